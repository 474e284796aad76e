//! The course: learn what users need, search, let fresh pairs decide, and say why.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_stats::rng::Rng;

use super::findings::{Findings, concluded};
use super::grouping::{Grouping, Limits, Who};
use super::need::{AloneUser, Needs};
use super::place::{Placed, alone, place, space};
use super::result::Tuned;
use super::search::{Ending, Found, Run, search};
use super::trial::{Trial, Trials};
use super::verdict::{Pair, Verdict};
use crate::population::Population;

/// What to tune, and how long.
#[derive(Debug)]
pub struct TuneRequest {
    /// The users.
    pub population: Population,
    /// The memory that limits divide.
    pub memory: Bytes,
    /// The most runs of the search.
    pub runs: usize,
    /// The number of fresh pairs.
    pub pairs: usize,
    /// Instead of searching, run every grouping in so many blocks, and no pairs.
    pub blocks: Option<usize>,
    /// Of these groupings only, if there are any.
    pub only: Vec<Grouping>,
    /// The seed of everything random.
    pub seed: u64,
    /// A folder for the users' files.
    pub scratch: PathBuf,
}

/// What happens while it tunes.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run of the search has ended.
    Run {
        /// Its number, from 1.
        number: usize,
        /// How many there are at most.
        most: usize,
        /// What was run.
        what: &'a str,
        /// How it ended.
        ending: &'a Ending<Trial>,
        /// Plain's makespan over the best one's so far, by single runs.
        best: Option<f64>,
    },
    /// A fresh pair has ended.
    Pair {
        /// Its number, from 1.
        number: usize,
        /// How many there are.
        most: usize,
        /// Its times.
        pair: Pair,
    },
}

/// Learning runs may take so many times of plain's: they show more if they are whole.
const LEARNING_CAP: f64 = 4.0;
/// Tells the seeds of pairs from those of blocks.
const FRESH: u64 = 0x7061_6972;

/// Finds how to group the users. `cancelled` interrupts it.
///
/// # Errors
/// A usage fault if there are fewer than two users; if groups cannot be made, a user fails, plain runs out of memory, or
/// at an interruption.
pub fn tune(
    request: &TuneRequest,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Tuned, Fault> {
    let users = request.population.users();
    if users < 2 {
        return Err(Fault::usage(format!("expected at least two users to group, found {users}")));
    }
    let trials = Trials { population: &request.population, scratch: request.scratch.clone(), cancelled };
    let mut tuning =
        Tuning { request, trials, progress, made: 0, most: request.runs, best: None, plain: None };
    let learnt = tuning.learn()?;
    let space: Vec<Grouping> = space(&learnt.needs, request.memory)
        .into_iter()
        .filter(|grouping| request.only.is_empty() || request.only.contains(grouping))
        .collect();
    if let Some(missing) = request.only.iter().find(|grouping| !space.contains(grouping)) {
        let message = format!(
            "`{}` is no grouping of these users, or makes the same groups as another",
            missing.code()
        );
        return Err(Fault::usage(message));
    }
    let found = match request.blocks {
        Some(blocks) => tuning.all(&space, blocks, &learnt.needs)?,
        None => tuning.search(&space, &learnt)?,
    };
    let placed = place(&found.best, &learnt.needs, request.memory);
    let mut findings = Findings {
        needs: learnt.needs,
        learning: learnt.second,
        space,
        found,
        placed,
        verdict: None,
        killed: None,
    };
    if findings.found.best != Grouping::PLAIN && request.blocks.is_none() {
        match tuning.pairs(&findings)? {
            Ok(verdict) => findings.verdict = verdict,
            Err(killed) => findings.killed = Some(killed),
        }
    }
    Ok(concluded(request.seed, &request.population, request.memory, findings))
}

/// What the first runs have shown.
struct Learnt {
    needs: Needs,
    /// Those of them that are groupings.
    runs: Vec<Run<Trial>>,
    /// The run that shows how much those need who need more.
    second: Option<Ending<Trial>>,
}

struct Tuning<'a> {
    request: &'a TuneRequest,
    trials: Trials<'a>,
    progress: &'a mut dyn FnMut(&Progress),
    /// Runs so far, and how many there are at most.
    made: usize,
    most: usize,
    /// The shortest makespan so far.
    best: Option<f64>,
    /// Plain's first makespan.
    plain: Option<f64>,
}

impl Tuning<'_> {
    /// Plain, then each user alone with an equal share, then those who need more with what others leave.
    fn learn(&mut self) -> Result<Learnt, Fault> {
        let (users, memory) = (self.request.population.users(), self.request.memory);
        let unknown = Needs::unknown(users, memory);
        let together = place(&Grouping::PLAIN, &unknown, memory);
        let plain = self.run(&together, "plain", 0, None)?;
        let Some(makespan) = plain.makespan() else { return Err(plain_is_killed(&plain)) };
        self.plain = Some(makespan);
        let each = Grouping { groups: users, limits: Limits::Equal, who: Who::Dealt };
        let cap = Some(LEARNING_CAP * makespan);
        let first = self.run(&place(&each, &unknown, memory), &each.to_string(), 0, cap)?;
        let shown = shown(&first).to_vec();
        let between = Needs::for_second_trial(&shown, memory).filter(|_| !shown.is_empty());
        let second = between.map(|needs| {
            self.run(&alone(&needs, memory), "a group each, what others leave to those who need more", 0, cap)
        });
        let second = second.transpose()?;
        let again = second.as_ref().map(self::shown).filter(|again| again.len() == shown.len());
        let needs = if shown.is_empty() { unknown } else { Needs::learn(&shown, again) };
        let runs = [(Grouping::PLAIN, plain), (each, first)];
        let runs = runs.map(|(grouping, ending)| Run { grouping, block: 0, ending });
        Ok(Learnt { needs, runs: runs.into(), second })
    }

    fn search(&mut self, space: &[Grouping], learnt: &Learnt) -> Result<Found<Trial>, Fault> {
        let budget = self.request.runs.saturating_sub(usize::from(learnt.second.is_some()));
        let TuneRequest { memory, seed, .. } = *self.request;
        let mut measure = |grouping: &Grouping, block: usize, cap: Option<f64>| {
            let placed = place(grouping, &learnt.needs, memory);
            self.run(&placed, &grouping.to_string(), block, cap)
        };
        search(space, budget, seed, learnt.runs.clone(), &mut measure)
    }

    /// Runs every grouping in each block, in random order. None is cut off.
    fn all(&mut self, space: &[Grouping], blocks: usize, needs: &Needs) -> Result<Found<Trial>, Fault> {
        let mut random = Rng::seeded(self.request.seed);
        let mut runs: Vec<Run<Trial>> = Vec::new();
        self.most = self.made + blocks * space.len();
        // Block 0 was for learning.
        for block in 1..=blocks {
            let mut order = space.to_vec();
            random.shuffle(&mut order);
            for grouping in order {
                let placed = place(&grouping, needs, self.request.memory);
                let ending = self.run(&placed, &grouping.to_string(), block, None)?;
                runs.push(Run { grouping, block, ending });
            }
        }
        let best = super::search::best(space, &runs).unwrap_or(Grouping::PLAIN);
        Ok(Found { best, runs })
    }

    /// Fresh pairs, plain and grouped in random order. An inner error names the group in which a program was killed.
    fn pairs(&mut self, findings: &Findings) -> Result<Result<Option<Verdict>, String>, Fault> {
        let together = place(&Grouping::PLAIN, &findings.needs, self.request.memory);
        let mut random = Rng::seeded(self.request.seed ^ FRESH);
        let (mut pairs, mut rates) = (Vec::new(), Vec::new());
        for number in 1..=self.request.pairs {
            let seed = random.bits();
            let mut sides = [(0, &together), (1, &findings.placed)];
            random.shuffle(&mut sides);
            let mut times = [0.0; 2];
            let mut streamed = [None; 2];
            for (side, placed) in sides {
                match self.trials.run(placed, seed, None)? {
                    Ending::Done { makespan, more } => {
                        (times[side], streamed[side]) = (makespan, more.counted.stream_rate);
                    }
                    Ending::Killed(group) => return Ok(Err(group)),
                    Ending::Cut(_) => return Err(Fault::attempt("a run without a limit was cut off")),
                }
            }
            let pair = Pair { plain: times[0], grouped: times[1] };
            (self.progress)(&Progress::Pair { number, most: self.request.pairs, pair });
            pairs.push(pair);
            rates.extend(streamed[0].zip(streamed[1]).map(|(plain, grouped)| grouped / plain));
        }
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied();
        Ok(Ok(Verdict::of(pairs, rate)))
    }

    /// A run of the search.
    fn run(
        &mut self,
        placed: &[Placed],
        what: &str,
        block: usize,
        cap: Option<f64>,
    ) -> Result<Ending<Trial>, Fault> {
        let seed = self.request.seed.wrapping_add(block as u64);
        let ending = self.trials.run(placed, seed, cap)?;
        self.made += 1;
        if let Some(makespan) = ending.makespan() {
            self.best = Some(self.best.map_or(makespan, |best| best.min(makespan)));
        }
        (self.progress)(&Progress::Run {
            number: self.made,
            most: self.most,
            what,
            ending: &ending,
            best: self.plain.zip(self.best).map(|(plain, best)| plain / best),
        });
        Ok(ending)
    }
}

/// Each user, of a run in which each was alone.
fn shown(ending: &Ending<Trial>) -> &[AloneUser] {
    match ending {
        Ending::Done { more, .. } => &more.alone,
        Ending::Cut(_) | Ending::Killed(_) => &[],
    }
}

fn plain_is_killed(ending: &Ending<Trial>) -> Fault {
    let message = match ending {
        Ending::Killed(group) => {
            format!("all users together ran out of memory: the kernel killed a program in group `{group}`")
        }
        _ => "plain has no time".to_string(),
    };
    Fault::attempt(message).remedy("give more --memory, or try fewer --users")
}
