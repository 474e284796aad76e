//! The course: learn what users need, search, let fresh pairs decide, and say why.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_host::disk::disk_of;
use crosstalk_stats::rng::Rng;
use crosstalk_work::peer::Deadline;

use super::checks::check;
use super::comparison::{Comparison, compare};
use super::findings::{Findings, concluded, run_record};
use super::grouping::{Grouping, Limits, Who};
use super::host::{ReadLimit, lock_obstacle};
use super::learning::{needs, users_alone};
use super::limits::RunLimits;
use super::need::{Needs, NeedsGap};
use super::plan::{GroupPlan, alone, plan, space};
use super::request::{ComparisonRequest, Progress, TuneRequest};
use super::result::{NEEDS, RunRecord, TuneResult};
use super::run::{Ending, Run};
use super::runner::{Purpose, RunData, Runner};
use super::search::{CAP, SearchResult, best, search};
use super::verdict::{Pair, PairsEnding, Verdict};

/// Tells the seeds of pairs from those of blocks.
const FRESH: u64 = 0x7061_6972;

/// Finds how to group the users. `cancelled` interrupts it.
///
/// # Errors
/// A usage or environment fault before anything runs if the request cannot be met here ([`check`]). An attempt fault if
/// a user fails, plain runs out of memory, or the deadline passes; an interruption.
pub fn tune(
    request: &TuneRequest,
    cancelled: &AtomicBool,
    progress: &mut dyn FnMut(&Progress),
) -> Result<TuneResult, Fault> {
    check(request)?;
    let locks_unavailable = lock_obstacle();
    let runner = runner(request, cancelled, locks_unavailable.is_none());
    let mut tuning = Tuning {
        request,
        runner,
        limits: RunLimits::new(request.deadline, request.runs + 2 * request.pairs),
        progress,
        made: 0,
        most: request.runs,
        best: None,
        plain: 0.0,
    };
    let learning = tuning.learn()?;
    let space = space(&learning.needs, request.memory);
    let found = match request.blocks {
        Some(blocks) => tuning.run_all(&space, blocks, &learning.needs)?,
        None => tuning.search(&space, &learning)?,
    };
    let plans = plan(&found.best, &learning.needs, request.memory);
    let pairs = match request.blocks {
        None if found.best != Grouping::PLAIN => tuning.pairs(&learning.needs, &plans)?,
        _ => PairsEnding::Done(None),
    };
    let LearningRuns { needs, needs_gap, second, .. } = learning;
    let read = read_limit(request)?;
    let learning = second;
    let findings =
        Findings { needs, needs_gap, learning, space, found, plans, pairs, read, locks_unavailable };
    Ok(concluded(request, findings))
}

/// Compares groupings as they are, and searches none. `ended` reports each run, with its number from 1 and how many
/// there are.
///
/// # Errors
/// Those of [`tune`]; a usage fault if a grouping is none of these users.
pub fn tune_compare(
    request: &TuneRequest,
    comparison: &ComparisonRequest,
    cancelled: &AtomicBool,
    ended: &mut dyn FnMut(usize, usize, &RunRecord),
) -> Result<Comparison, Fault> {
    check(request)?;
    let runner = runner(request, cancelled, false);
    let ComparisonRequest { groupings, blocks } = comparison;
    let cap = RunLimits::new(request.deadline, blocks * groupings.len()).first();
    compare(&runner, groupings, *blocks, request.seed, cap, read_limit(request)?.as_ref(), ended)
}

fn runner<'a>(request: &'a TuneRequest, cancelled: &'a AtomicBool, can_count_waits: bool) -> Runner<'a> {
    Runner {
        population: &request.population,
        scratch: request.scratch.clone(),
        until: Deadline::new(request.deadline, cancelled),
        drop_caches: request.drop_caches,
        can_count_waits,
    }
}

/// What all users together read at most, from the disk that has their files.
fn read_limit(request: &TuneRequest) -> Result<Option<ReadLimit>, Fault> {
    let limit = |rate| Ok(ReadLimit::here(disk_of(&request.scratch)?, rate));
    request.population.machine().read_rate.map(limit).transpose()
}

/// What the first runs have shown.
struct LearningRuns {
    needs: Needs,
    needs_gap: Option<NeedsGap>,
    /// Those of them that are groupings.
    runs: Vec<Run<RunData>>,
    /// The run that shows how much those need who need more.
    second: Option<Ending<RunData>>,
}

struct Tuning<'a> {
    request: &'a TuneRequest,
    runner: Runner<'a>,
    limits: RunLimits,
    progress: &'a mut dyn FnMut(&Progress),
    /// Runs so far, and how many there are at most.
    made: usize,
    most: usize,
    /// The shortest makespan so far.
    best: Option<f64>,
    /// Plain's first makespan.
    plain: f64,
}

impl Tuning<'_> {
    /// Plain, then each user alone with an equal share, then those who need more with what others leave.
    fn learn(&mut self) -> Result<LearningRuns, Fault> {
        let (users, memory) = (self.request.population.users(), self.request.memory);
        let unknown = Needs::unknown(users, memory);
        let plain = self.first(&unknown)?;
        let each = Grouping { groups: users, limits: Limits::Equal, who: Who::Dealt };
        let cap = RunLimits::later(self.plain);
        let first = self.run_grouping(&each, &unknown, 0, cap)?;
        let between = Needs::for_second_trial(users_alone(&first), memory);
        let second = between.map(|needs| {
            let plans = alone(&needs, memory);
            self.run(&plans, NEEDS, "one user each, those who filled theirs get what others leave", 0, cap)
        });
        let second = second.transpose()?;
        let (needs, needs_gap) = needs(users, memory, &first, second.as_ref());
        let runs = [(Grouping::PLAIN, plain), (each, first)];
        let runs = runs.map(|(grouping, ending)| Run { grouping, block: 0, ending });
        Ok(LearningRuns { needs, needs_gap, runs: runs.into(), second })
    }

    /// Plain for the first time: it says how long all takes.
    fn first(&mut self, needs: &Needs) -> Result<Ending<RunData>, Fault> {
        let began = Instant::now();
        let plain = self.run_grouping(&Grouping::PLAIN, needs, 0, self.limits.first())?;
        self.plain = match &plain {
            Ending::Done { makespan, .. } => *makespan,
            Ending::Cut(_) => return Err(self.limits.first_is_late()),
            Ending::Killed(group) => return Err(plain_is_killed(group)),
        };
        let runs = self.request.runs + 2 * self.request.pairs;
        let seconds = runs as f64 * began.elapsed().as_secs_f64();
        if self.request.blocks.is_none() {
            (self.progress)(&Progress::Plan { runs, seconds, deadline: self.request.deadline });
        }
        Ok(plain)
    }

    fn search(
        &mut self,
        space: &[Grouping],
        learning: &LearningRuns,
    ) -> Result<SearchResult<RunData>, Fault> {
        let budget = self.request.runs.saturating_sub(usize::from(learning.second.is_some()));
        let seed = self.request.seed;
        let longest = RunLimits::later(self.plain);
        let mut measure = |grouping: &Grouping, block: usize, cap: Option<f64>| {
            let ending = self.run_grouping(grouping, &learning.needs, block, cap.unwrap_or(longest))?;
            match ending {
                Ending::Cut(cap) if *grouping == Grouping::PLAIN => Err(RunLimits::later_is_late(cap)),
                ending => Ok(ending),
            }
        };
        search(space, budget, seed, learning.runs.clone(), &mut measure)
    }

    /// Runs every grouping in each block, in random order. Plain may take as long as it needs; others are cut off if
    /// they take much longer than the best so far, since they are not the best then.
    fn run_all(
        &mut self,
        space: &[Grouping],
        blocks: usize,
        needs: &Needs,
    ) -> Result<SearchResult<RunData>, Fault> {
        let mut random = Rng::seeded(self.request.seed);
        let mut runs: Vec<Run<RunData>> = Vec::new();
        self.most = self.made + blocks * space.len();
        // Block 0 was for learning.
        for block in 1..=blocks {
            let mut order = space.to_vec();
            random.shuffle(&mut order);
            for grouping in order {
                let cap = match grouping {
                    Grouping::PLAIN => RunLimits::later(self.plain),
                    _ => CAP * self.best.unwrap_or(self.plain),
                };
                let ending = self.run_grouping(&grouping, needs, block, cap)?;
                runs.push(Run { grouping, block, ending });
            }
        }
        let best = best(space, &runs).unwrap_or(Grouping::PLAIN);
        Ok(SearchResult { best, runs })
    }

    /// Fresh pairs, plain and grouped in random order.
    fn pairs(&mut self, needs: &Needs, plans: &[GroupPlan]) -> Result<PairsEnding, Fault> {
        let together = plan(&Grouping::PLAIN, needs, self.request.memory);
        let mut random = Rng::seeded(self.request.seed ^ FRESH);
        let (mut pairs, mut rates) = (Vec::new(), Vec::new());
        let cap = RunLimits::later(self.plain);
        for number in 1..=self.request.pairs {
            let seed = random.bits();
            let mut sides = [(0, &together[..]), (1, plans)];
            random.shuffle(&mut sides);
            let mut times = [0.0; 2];
            let mut streamed = [None; 2];
            for (side, plans) in sides {
                match self.runner.run(plans, seed, cap, Purpose::Decide)? {
                    Ending::Done { makespan, more } => {
                        (times[side], streamed[side]) = (makespan, more.counts.stream_rate);
                    }
                    Ending::Killed(group) => return Ok(PairsEnding::Killed(group)),
                    Ending::Cut(cap) if side == 0 => return Err(RunLimits::later_is_late(cap)),
                    Ending::Cut(cap) => return Ok(PairsEnding::Cut(cap)),
                }
            }
            let pair = Pair { plain: times[0], grouped: times[1] };
            (self.progress)(&Progress::Pair { number, most: self.request.pairs, pair });
            pairs.push(pair);
            rates.extend(streamed[0].zip(streamed[1]).map(|(plain, grouped)| grouped / plain));
        }
        rates.sort_by(f64::total_cmp);
        let rate = rates.get(rates.len() / 2).copied();
        Ok(PairsEnding::Done(Verdict::of(pairs, rate)))
    }

    /// A run of the search, of `cap` seconds at most.
    fn run_grouping(
        &mut self,
        grouping: &Grouping,
        needs: &Needs,
        block: usize,
        cap: f64,
    ) -> Result<Ending<RunData>, Fault> {
        let plans = plan(grouping, needs, self.request.memory);
        let what = grouping.words(self.request.population.users());
        self.run(&plans, &grouping.code(), &what, block, cap)
    }

    /// A run of these groups; `code` and `what` are their names in the result and for people.
    fn run(
        &mut self,
        plans: &[GroupPlan],
        code: &str,
        what: &str,
        block: usize,
        cap: f64,
    ) -> Result<Ending<RunData>, Fault> {
        let seed = self.request.seed.wrapping_add(block as u64);
        let ending = self.runner.run(plans, seed, cap, Purpose::Explain)?;
        self.made += 1;
        if let Some(makespan) = ending.makespan() {
            self.best = Some(self.best.map_or(makespan, |best| best.min(makespan)));
        }
        (self.progress)(&Progress::Run {
            number: self.made,
            most: self.most,
            what,
            run: &run_record(code.into(), block, &ending),
            best: self.best.filter(|_| self.plain > 0.0).map(|best| self.plain / best),
        });
        Ok(ending)
    }
}

fn plain_is_killed(group: &str) -> Fault {
    let message =
        format!("all users together ran out of memory: the kernel killed a program in group `{group}`");
    Fault::attempt(message).remedy("give more --memory, or try fewer --users")
}
