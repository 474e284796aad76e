//! A slave: has a part of the corpus, and runs the stages.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::category::NAMES;
use super::config::Config;
use super::confusion::Confusion;
use super::decide::Decision;
use super::label::Counts;
use super::node::{Node, stage_times};
use super::source::{Source, generate_pages};
use super::verify::ModelReports;
use super::{deal, features, pipeline};
use crate::coordination::{SlaveExchange, broadcast_words, send_to_master};
use crate::exchange::Exchange;
use crate::mapreduce::budget::{Memory, Room};
use crate::mapreduce::spool::Spool;
use crate::spill::Scratch;

/// Runs a slave on a node with so much `memory`; returns where its time went.
pub fn run(config: &Config, memory: Bytes, rank: &mut Rank) -> Result<TimeAccount, Fault> {
    let scratch = Scratch::new(config.scratch.clone(), "`scratch`");
    let memory = Memory::new(memory, config.slaves)?;
    let (pages, bytes) = load(config, &scratch, memory.budget().spool_memory(), rank)?;
    send_to_master(rank, &[bytes])?;

    let before = scratch.traffic();
    rank.restart_clock()?;
    let slaves = &mut SlaveExchange(rank);
    let mut node = Node::new(&config.settings, memory, scratch.clone(), slaves);
    let learned = pipeline::run(&mut node, pages, |counts, slaves| agree(counts, slaves.0))?;
    let (ended, sent, held, segments) = (node.ended, node.sent, node.memory.peak, node.segments);
    let mut confusion = Confusion::default();
    learned.decisions.iter().for_each(|decision| confusion.count_document(decision.label, decision.decided));
    send_to_master(rank, confusion.as_words())?;
    let account = rank.account()?;
    let moved = scratch.traffic().since(before);

    send_to_master(rank, &[sent, u64::from(learned.features)])?;
    send_to_master(rank, &[moved.written, moved.read, moved.writes, moved.seeks, held])?;
    send_to_master(rank, &segments)?;
    let stages = stage_times(&ended, &rank.marked_times()?);
    send_to_master(rank, &stages.map(|took| took.0.to_bits()))?;
    let found = features::recount_sample(&learned.numbered, &learned.sample, rank)?;
    let checksum = learned.model.checksum(rank)?;
    send_to_master(rank, &ModelReports::as_words(checksum, &learned.sample, &found))?;
    if let Some(directory) = &config.output {
        let part = SlaveExchange(rank).part();
        write(&directory.join(format!("part-{part:05}")), &learned.decisions)?;
    }
    Ok(account)
}

/// This slave's pages, and their bytes.
fn load(config: &Config, scratch: &Scratch, room: Room, rank: &mut Rank) -> Result<(Spool, u64), Fault> {
    let mut pages = Spool::new(scratch, room);
    let bytes = match &config.source {
        Source::Generated(corpus) => {
            let (slave, slaves) = (rank.id() - 1, rank.size() - 1);
            rank.compute_in_parallel_spilling(|rank| generate_pages(corpus, slave, slaves, &mut pages, rank))?
        }
        Source::File(_) => deal::receive_pages(rank, &mut pages)?,
    };
    Ok((pages, bytes))
}

/// Adds up all slaves' counts, by the master.
fn agree(counts: &Counts, rank: &mut Rank) -> Result<Counts, Fault> {
    send_to_master(rank, &counts.to_words())?;
    Ok(Counts::from_words(&broadcast_words(rank, Counts::default().to_words())?))
}

/// Writes page number, category and given category of a document on each line.
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
