//! A slave: holds a part of the corpus, and goes through the stages.

use crosstalk_comm::{Account, Rank};
use crosstalk_core::Fault;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::category::NAMES;
use super::config::Config;
use super::confusion::{Confusion, Decision};
use super::label::Counts;
use super::node::Node;
use super::source::{Source, generate};
use super::verify::Testimony;
use super::{deal, features, pipeline};
use crate::app::exchange::Exchange;
use crate::app::mapreduce::scratch::Scratch;
use crate::app::mapreduce::spool::Spool;
use crate::app::words::{Slaves, report, tell};

/// Plays a slave's part; returns where the time went.
pub fn run(config: &Config, rank: &mut Rank) -> Result<Account, Fault> {
    let scratch = Scratch::new(config.scratch.clone());
    let (pages, bytes) = load(config, &scratch, rank)?;
    report(rank, &[bytes])?;

    let before = scratch.spilled();
    rank.restart_clock()?;
    let slaves = &mut Slaves(rank);
    let mut node = Node::new(&config.settings, scratch.clone(), slaves);
    let learned = pipeline::run(&mut node, pages, |counts, slaves| agree(counts, slaves.0))?;
    let (stages, sent) = (node.stages, node.sent);
    let mut confusion = Confusion::default();
    learned.decisions.iter().for_each(|decision| confusion.see(decision.label, decision.decided));
    report(rank, confusion.words())?;
    let account = rank.account();
    let spilled = scratch.spilled().since(before);

    report(rank, &[sent, learned.features.count() as u64, spilled.bytes, spilled.spills])?;
    report(rank, &stages.map(|took| took.0.to_bits()))?;
    let found = features::recount(&learned.numbered, &learned.features.sample)?;
    report(rank, &Testimony::words(learned.model.checksum(), &learned.features.sample, &found))?;
    if let Some(directory) = &config.output {
        let part = Slaves(rank).part();
        write(&directory.join(format!("part-{part:05}")), &learned.decisions)?;
    }
    Ok(account)
}

/// This slave's pages, and their bytes.
fn load(config: &Config, scratch: &Scratch, rank: &mut Rank) -> Result<(Spool, u64), Fault> {
    let mut pages = Spool::new(scratch, (config.settings.memory_limit.0 / 8) as usize);
    let bytes = match &config.source {
        Source::Generated(corpus) => {
            let (slave, slaves) = (rank.id() - 1, rank.size() - 1);
            rank.parallel(|| generate(corpus, slave, slaves, &mut pages))?
        }
        Source::File(_) => deal::take(rank, &mut pages)?,
    };
    Ok((pages, bytes))
}

/// What all slaves have: the master adds it up.
fn agree(counts: &Counts, rank: &mut Rank) -> Result<Counts, Fault> {
    report(rank, &counts.to_words())?;
    Ok(Counts::from_words(&tell(rank, Counts::default().to_words())?))
}

/// Writes page number, category and category given, a document a line.
fn write(path: &Path, decisions: &[Decision]) -> Result<(), Fault> {
    let write = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut file = BufWriter::new(File::create(path)?);
        for Decision { number, label, decided } in decisions {
            let name = |label: u8| NAMES[usize::from(label)];
            writeln!(file, "{number}\t{}\t{}", name(*label), name(*decided))?;
        }
        file.flush()
    };
    write().map_err(|e| Fault::environment(format!("cannot write: {e}")).at(path.display().to_string()))
}
