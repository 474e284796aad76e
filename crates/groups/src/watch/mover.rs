//! The thread that moves processes into groups, while the watcher answers all other starts.
//!
//! Moving a process waits for all processors (`cgroup_threadgroup_rwsem` in kernel/cgroup/cgroup.c): mostly some
//! milliseconds where nothing else moves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosstalk_host::undisturbed::run_first;

use super::job::{Discovery, Job, Task};
use super::judge::{Goal, Judge, Verdict, program_of};
use super::message::{Answer, Message, Placement};
use super::outbox::Outbox;
use super::tally::{Outcome, Tally};
use super::targets::{Refusal, Targets};
use super::waiting::Waiting;
use crate::name::GroupName;
use crate::unusable::vanished;

/// Time between two searches for processes that were missed: at least this, and so many times what one took, so that
/// they take a five-thousandth of a processor at most.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
const SEARCH_SHARE: u32 = 5000;
/// How often groups are looked at that have as many processes as they may.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);
/// A process that is found has so long to be moved at its start: it may be about to start its program.
const SECOND_LOOK: Duration = Duration::from_millis(300);
/// So many processes wait at most for a group that is being made. A search finds the others.
const MOST_WANTED: usize = 1000;
/// A group that could not be made is not tried again for this time.
const RETRY: Duration = Duration::from_secs(10);

/// What both threads of a watcher share.
#[derive(Debug)]
pub struct Shared {
    /// Judges processes.
    pub judge: Judge,
    /// Programs that wait.
    pub waiting: Waiting,
    /// Lines for the supervisor.
    pub outbox: Arc<Outbox>,
    /// What was done.
    pub tally: Mutex<Tally>,
    /// Whether another watcher ran before, and ended: what runs without a group was missed.
    pub again: bool,
}

impl Shared {
    /// Counts what became of a program.
    pub fn count(&self, outcome: Outcome, took: Duration) {
        self.change(|tally| tally.count(outcome, took));
    }

    /// Changes the tally.
    pub fn change(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Moves processes until nobody sends tasks any more.
pub fn run(shared: &Shared, tasks: &Receiver<Task>) {
    // Programs wait for it. Without the privilege it waits its turn, as others do.
    let _ = run_first();
    let mut mover =
        Mover { shared, targets: Targets::default(), wanted: BTreeMap::new(), failed: BTreeMap::new() };
    let mut search = Search::default();
    let first = if shared.again { Discovery::Search } else { Discovery::FirstSearch };
    for pid in processes() {
        mover.look(pid, first);
        mover.do_waiting(tasks);
    }
    let (mut next, mut counted) = (Instant::now() + SEARCH_INTERVAL, Instant::now());
    loop {
        let until = search.second_look.unwrap_or(next).min(next).min(counted + COUNT_INTERVAL);
        match tasks.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(task) => mover.act(task),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if counted.elapsed() >= COUNT_INTERVAL {
            counted = Instant::now();
            mover.report_full();
        }
        if search.second_look.is_some_and(|at| at <= Instant::now()) {
            search.second_look = None;
            let candidates = std::mem::take(&mut search.candidates);
            candidates.into_iter().for_each(|pid| mover.look(pid, Discovery::Search));
        }
        if next <= Instant::now() {
            let began = Instant::now();
            shared.judge.refresh();
            for pid in processes() {
                if mover.goal(pid).is_some() {
                    search.candidates.insert(pid);
                }
                mover.do_waiting(tasks);
            }
            search.second_look = (!search.candidates.is_empty()).then(|| Instant::now() + SECOND_LOOK);
            next = Instant::now() + SEARCH_INTERVAL.max(began.elapsed() * SEARCH_SHARE);
        }
    }
}

/// A search for processes without their group.
#[derive(Debug, Default)]
struct Search {
    candidates: BTreeSet<u32>,
    second_look: Option<Instant>,
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

struct Mover<'a> {
    shared: &'a Shared,
    targets: Targets,
    /// Groups that the supervisor is making → processes that go into them.
    wanted: BTreeMap<GroupName, Vec<Job>>,
    /// Groups that could not be made: when that was, and why.
    failed: BTreeMap<GroupName, (Instant, String)>,
}

impl Mover<'_> {
    /// Does what has been sent meanwhile.
    fn do_waiting(&mut self, tasks: &Receiver<Task>) {
        while let Ok(task) = tasks.try_recv() {
            self.act(task);
        }
    }

    fn act(&mut self, task: Task) {
        match task {
            Task::Put(job) => self.put(job),
            Task::Answered(Answer { group, refusal }) => {
                self.shared.judge.refresh();
                if let Some(why) = &refusal {
                    self.failed.insert(group.clone(), (Instant::now(), why.clone()));
                }
                for job in self.wanted.remove(&group).unwrap_or_default() {
                    if !self.still_goes(&job) {
                        self.refused(&job);
                        continue;
                    }
                    match &refusal {
                        Some(why) => self.refuse(&job, unmade(&group, why)),
                        None => {
                            let done = self.targets.put(&group, job.pid);
                            self.done(&job, done);
                        }
                    }
                }
            }
        }
    }

    /// The group of a process that is not in it, and that does not wait to be put there.
    fn goal(&self, pid: u32) -> Option<Goal> {
        if self.shared.waiting.has(pid) {
            return None;
        }
        match self.shared.judge.judge(pid, || program_of(pid)) {
            Verdict::Goes(goal) => Some(goal),
            Verdict::Grouped | Verdict::Stays => None,
        }
    }

    /// Whether a process that has waited for its group still goes there: another may have its number now.
    fn still_goes(&self, job: &Job) -> bool {
        // One whose start waits does not run its program yet.
        let program = || match self.shared.waiting.has(job.pid) {
            true => Some(PathBuf::from(&job.program)),
            false => program_of(job.pid),
        };
        self.shared.judge.judge(job.pid, program) == Verdict::Goes(job.goal.clone())
    }

    fn report_full(&mut self) {
        for group in self.targets.full() {
            self.shared
                .outbox
                .note(format!("group `{group}` has as many processes as it may: more are refused"));
        }
    }

    fn look(&mut self, pid: u32, discovery: Discovery) {
        if let Some(goal) = self.goal(pid) {
            let program = program_of(pid).map(|path| path.display().to_string()).unwrap_or_default();
            self.put(Job { pid, goal, program, discovery });
        }
    }

    fn put(&mut self, job: Job) {
        let group = &job.goal.group;
        if let Some(others) = self.wanted.get_mut(group) {
            // A later start of the same process counts.
            others.retain(|other| other.pid != job.pid);
            if others.len() >= MOST_WANTED {
                return self.refused(&job);
            }
            return others.push(job);
        }
        match self.targets.put(group, job.pid) {
            Err(Refusal::Missing) => {
                let makes =
                    self.shared.judge.rules().get(job.goal.rule).is_some_and(|rule| rule.make.is_some());
                let failed = self.failed.get(group).filter(|(at, _)| at.elapsed() < RETRY);
                match failed {
                    _ if !makes => return self.refuse(&job, missing(group)),
                    Some((_, why)) => return self.refuse(&job, unmade(group, why)),
                    None => {}
                }
                let wanted = Message::MissingGroup { group: group.clone(), rule: job.goal.rule };
                self.wanted.insert(group.clone(), vec![job]);
                self.shared.outbox.send(&wanted);
            }
            done => self.done(&job, done),
        }
    }

    fn done(&self, job: &Job, done: Result<(), Refusal>) {
        match done {
            Ok(()) => self.moved(job),
            Err(Refusal::Ended) => self.refused(job),
            Err(Refusal::Missing) => self.refuse(job, missing(&job.goal.group)),
            Err(Refusal::Refused(why)) => self.refuse(job, why),
        }
    }

    fn moved(&self, job: &Job) {
        let waited = self.shared.waiting.release(job.pid);
        self.shared.outbox.forget(&missing(&job.goal.group));
        if let Some((_, why)) = self.failed.get(&job.goal.group) {
            self.shared.outbox.forget(&unmade(&job.goal.group, why));
        }
        match (job.discovery, waited) {
            (Discovery::WaitingStart, Some(waited)) => self.shared.count(Outcome::Moved, waited),
            (Discovery::ProcessEvent, _) => self.shared.count(Outcome::Moved, Duration::ZERO),
            // It was counted when it continued.
            (Discovery::WaitingStart, None) => self.shared.change(|tally| tally.late += 1),
            (Discovery::FirstSearch, _) => self.shared.change(|tally| tally.before += 1),
            (Discovery::Search, _) => self.shared.change(|tally| {
                tally.late += 1;
                tally.count(Outcome::Missed, Duration::ZERO);
            }),
        }
        self.shared.outbox.placed(|| Placement {
            pid: job.pid,
            uid: job.goal.uid,
            program: job.program.clone(),
            group: job.goal.group.clone(),
            in_time: job.discovery == Discovery::WaitingStart && waited.is_some(),
            took: waited.map(|waited| waited.as_secs_f64()),
        });
    }

    fn refuse(&self, job: &Job, why: String) {
        self.shared.outbox.note(why);
        self.refused(job);
    }

    /// It continues outside of its group.
    fn refused(&self, job: &Job) {
        let waited = self.shared.waiting.release(job.pid);
        if waited.is_some() || job.discovery == Discovery::ProcessEvent {
            self.shared.count(Outcome::Missed, Duration::ZERO);
        }
    }
}

fn unmade(group: &GroupName, why: &str) -> String {
    format!("programs start outside of their group: cannot make group `{group}`: {why}")
}

fn missing(group: &GroupName) -> String {
    format!("programs start outside of their group: {}", vanished(group).sentence())
}
