//! Out of memory by rule: when a group's memory or the machine's is full, a group is ended as a whole, and named, before
//! the kernel chooses a process.

mod ending;
mod event;
mod limited_group;
mod machine;
mod order;
mod record;
mod victim;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crosstalk_cgroup::process;
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::ledger::move_to_roots;
use crosstalk_host::process::keep_in_memory;
use crosstalk_host::undisturbed::Undisturbed;
use crosstalk_host::user::is_root;
use crosstalk_host::{Launcher, Ledger};

use crate::launch::kills;
use crate::name::GroupName;
use crate::numbers::limit;
use crate::single::SingleLock;
use crate::standing::{Existence, Standing, standing};
use crate::when_full::WhenFull;
use ending::Ending;
pub use event::{Event, FullMemory};
use limited_group::{LimitedGroup, kept};
pub use machine::AvailableShare;
use machine::Machine;
pub use order::NextEnd;
pub use record::GroupEnd;
pub(crate) use record::ends;
pub use victim::Reason;
use victim::{Candidate, victim};

/// How often the machine's memory is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The same of groups that are ending.
const ENDING_INTERVAL: Duration = Duration::from_millis(5);
/// How often groups are looked for, leases are renewed, and what the kernel did is read.
const REFRESH: Duration = Duration::from_secs(1);
/// How long memory is left to the kernel after no group could be ended.
const LEFT: Duration = Duration::from_secs(60);
/// The most processes that an event names.
const NAMED: usize = 4;
/// A group that is to be reported is full at this share of its limit.
const NEARLY: f64 = 0.95;

/// Sees to it that groups are ended by rule. Dropping it gives the choice back to the kernel.
#[derive(Debug)]
pub struct Evictor {
    groups: Vec<Standing>,
    /// Those that may have others in them before these.
    limited: Vec<LimitedGroup>,
    machine: Machine,
    /// Processes that the kernel had killed.
    kills: BTreeMap<GroupName, u64>,
    /// Groups that were reported to be full.
    nearly: Vec<GroupName>,
    /// Why groups could not be held.
    refusals: Vec<Fault>,
    /// Groups whose processes take a while to end.
    ending: Vec<Ending>,
    /// Groups that were left to the kernel, and when.
    left: Vec<(GroupName, Instant)>,
    refreshed: Option<Instant>,
    ledger: Ledger,
    _lock: SingleLock,
    /// It acts at once, also beside many programs.
    _undisturbed: Option<Undisturbed>,
}

impl Evictor {
    /// Begins. `available`: below it the machine's memory counts as full.
    ///
    /// # Errors
    /// If this user is not root, or another evictor runs.
    pub fn open(available: AvailableShare, launcher: &Launcher) -> Result<Evictor, Fault> {
        if !is_root() {
            return Err(Fault::environment("only root may end what others run").remedy("run it as root"));
        }
        let lock = SingleLock::take("keep")?;
        // It is needed most when the group is full that it was started in.
        move_to_roots();
        keep_in_memory();
        let mut evictor = Evictor {
            groups: Vec::new(),
            limited: Vec::new(),
            machine: Machine::new(available),
            kills: BTreeMap::new(),
            nearly: Vec::new(),
            refusals: Vec::new(),
            ending: Vec::new(),
            left: Vec::new(),
            refreshed: None,
            ledger: Ledger::open(launcher)?,
            _lock: lock,
            _undisturbed: Undisturbed::begin().ok(),
        };
        evictor.refresh()?;
        match evictor.refusals.pop() {
            Some(fault) if fault.remedy.is_none() => {
                Err(fault.remedy("see whether control groups are mounted for writing: mount | grep cgroup"))
            }
            Some(fault) => Err(fault),
            None => Ok(evictor),
        }
    }

    /// The groups whose limits it keeps.
    pub fn kept(&self) -> Vec<GroupName> {
        self.limited.iter().map(|one| one.name.clone()).collect()
    }

    /// Whom the machine's memory would cost, as things are, the first at the front.
    pub fn order(&self) -> Vec<NextEnd> {
        order::order(&self.occupied(None))
    }

    /// When memory is to be looked at again.
    pub fn due(&self) -> Instant {
        let first = self.limited.iter().map(|one| one.due).min();
        let is_ending = self.ending.iter().any(|ending| !ending.stays);
        let latest = Instant::now() + if is_ending { ENDING_INTERVAL } else { POLL_INTERVAL };
        first.map_or(latest, |due| due.min(latest))
    }

    /// Looks once, and ends a group if memory is full. To be called when that is due.
    ///
    /// # Errors
    /// If a registry cannot be read, or the reapers cannot be started.
    pub fn check(&mut self) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        if self.refreshed.is_none_or(|at| at.elapsed() >= REFRESH) {
            events.extend(self.refresh()?);
        }
        events.extend(self.await_end());
        let ending = &self.ending;
        let freeing = |within: &GroupName| ending::freeing(ending, Some(within));
        if let Some(at) = self.limited.iter_mut().position(|one| one.is_full(freeing)) {
            let full = FullMemory {
                of: Some(self.limited[at].name.clone()),
                limit: self.limited[at].limit,
                available: None,
            };
            let event = self.end(full);
            match event {
                // Whoever waits there goes on.
                Some(Event::Nobody { .. }) => {
                    self.left.push((self.limited.remove(at).name.clone(), Instant::now()));
                }
                _ => self.limited[at].shrinks(),
            }
            events.extend(event);
        } else if let Some(full) = self.machine.full(ending::freeing(ending, None)) {
            let event = self.end(full);
            if matches!(event, Some(Event::Nobody { .. })) {
                self.machine.leave(LEFT);
            }
            events.extend(event);
        }
        Ok(events)
    }

    /// Looks whether ended groups have ended.
    fn await_end(&mut self) -> Option<Event> {
        self.ending.retain_mut(Ending::is_there);
        self.ending.iter_mut().find_map(Ending::late)
    }

    /// Ends the group that is to be ended by rule, and does not wait for that: others grow meanwhile. `None` if there
    /// is no other one than those that are ending, or it has ended by itself. A group without processes has nothing to end.
    fn end(&mut self, full: FullMemory) -> Option<Event> {
        let is_ending = |one: &Standing| self.ending.iter().any(|ending| ending.one.name == one.name);
        let mut leaves = self.occupied(full.of.as_ref());
        leaves.retain(|one| !is_ending(one));
        let ending: Vec<&Ending> = self
            .ending
            .iter()
            .filter(|ending| !ending.stays)
            .filter(|ending| is_within(&ending.one, full.of.as_ref()))
            .collect();
        let memory: Vec<Bytes> = leaves.iter().map(|one| kept(&one.group)).collect();
        let candidate = |(one, memory): (&&Standing, &Bytes)| Candidate::of(one, *memory);
        let candidates: Vec<Candidate> = leaves.iter().zip(&memory).map(candidate).collect();
        let last = ending.iter().map(|ending| kept(&ending.one.group)).max().unwrap_or(Bytes(0));
        let own = leaves.iter().position(|one| {
            Some(&one.name) == full.of.as_ref() && one.registered.when_full() == WhenFull::End
        });
        let Some((at, reason)) = own.map(|at| (at, Reason::OwnLimit)).or_else(|| victim(&candidates, last))
        else {
            return ending.is_empty().then_some(Event::Nobody { full });
        };
        let (one, memory) = (leaves[at].clone(), memory[at]);
        let inside = one.group.processes_in_any_tree();
        let called = |pid: &u32| process::one(*pid).map(|process| format!("{} {pid}", process.name));
        let named = inside.iter().filter_map(called).take(NAMED).collect();
        let exists = |name: &GroupName| self.groups.iter().any(|one| one.name == *name);
        record::add(&one.name, reason, &full, exists);
        if one.group.kill() == 0 {
            return None;
        }
        let (group, processes) = (one.name.clone(), inside.len());
        self.ending.push(Ending::new(one, inside));
        Some(Event::Ended { group, reason, full, memory, processes, named })
    }

    /// Groups with processes that hold no others, within a group or all.
    fn occupied(&self, within: Option<&GroupName>) -> Vec<&Standing> {
        let meant = self.groups.iter().filter(|one| is_within(one, within) && self.is_leaf(one));
        meant.filter(|one| !one.group.processes_in_any_tree().is_empty()).collect()
    }

    fn is_leaf(&self, one: &Standing) -> bool {
        !self.groups.iter().any(|other| other.name.is_in(&one.name))
    }

    /// Renews what is held, takes what is new, and reports what the kernel did meanwhile.
    fn refresh(&mut self) -> Result<Vec<Event>, Fault> {
        self.refreshed = Some(Instant::now());
        self.ledger.renew()?;
        self.groups = standing(None)?.into_iter().filter(|one| one.existence() == Existence::Whole).collect();
        let may_end: Vec<&Standing> = self
            .groups
            .iter()
            .filter(|one| self.is_leaf(one) && one.registered.when_full() == WhenFull::End)
            .collect();
        let concerns =
            |one: &&Standing| may_end.iter().any(|leaf| leaf.name == one.name || leaf.name.is_in(&one.name));
        let meant: Vec<&Standing> = self.groups.iter().filter(concerns).collect();
        self.limited.retain_mut(|known| {
            meant.iter().any(|one| one.name == known.name && limit(&one.group) == Some(known.limit))
                && known.renew().is_ok()
        });
        self.left.retain(|(_, at)| at.elapsed() < LEFT);
        self.refusals.clear();
        for one in meant {
            let is_known = self.limited.iter().any(|known| known.name == one.name)
                || self.left.iter().any(|(name, _)| *name == one.name);
            if !is_known {
                match LimitedGroup::take(one, self.is_leaf(one), &self.ledger) {
                    Ok(limited) => self.limited.extend(limited),
                    // It may have gone meanwhile.
                    Err(fault) => self.refusals.push(fault.at(one.name.to_string())),
                }
            }
        }
        self.limited.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(self.killed().into_iter().chain(self.nearly()).collect())
    }

    /// What the kernel did since the last time.
    fn killed(&mut self) -> Vec<Event> {
        let now: BTreeMap<GroupName, u64> =
            self.groups.iter().filter_map(|one| Some((one.name.clone(), kills(&one.group)?))).collect();
        let more = |(group, now): (&GroupName, &u64)| {
            let before = self.kills.get(group)?;
            let processes = now.checked_sub(*before).filter(|more| *more > 0)?;
            Some(Event::Killed { group: group.clone(), processes })
        };
        let events = now.iter().filter_map(more).collect();
        self.kills = now;
        events
    }

    /// Groups that have become nearly full, and are only to be reported.
    fn nearly(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for one in self.groups.iter().filter(|one| one.registered.when_full() == WhenFull::Warn) {
            let Some(limit) = limit(&one.group) else { continue };
            let memory = kept(&one.group);
            let (is, was) = (memory.0 as f64 >= NEARLY * limit.0 as f64, self.nearly.contains(&one.name));
            match (is, was) {
                (true, false) => {
                    self.nearly.push(one.name.clone());
                    events.push(Event::Nearly {
                        full: FullMemory { of: Some(one.name.clone()), limit, available: None },
                        memory,
                    });
                }
                (false, true) => self.nearly.retain(|name| *name != one.name),
                _ => {}
            }
        }
        events
    }
}

/// Whether it is that group or in it; each is, if none is named.
fn is_within(one: &Standing, within: Option<&GroupName>) -> bool {
    within.is_none_or(|within| one.name == *within || one.name.is_in(within))
}
