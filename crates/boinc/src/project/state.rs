//! The project's state, as it follows from the journal's lines, and the lines that may come next. Pure: it
//! uses no clock and no file.
//!
//! A work unit needs results until enough of them agree; the first of these is its answer, for good. A result
//! that was not reported in time counts as lost, and the work unit needs another. If it is reported later, it
//! counts like any other while the work unit has no answer; afterwards it is acknowledged without effect.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::line::{Line, Outcome, ResultId, Version};
use super::settings::Settings;
use super::unit::{Instance, Stage, WorkUnit, has_failed, valid_digest};

/// How many work units that need another result are searched for one that a host may have, while there are
/// new work units.
const SEARCHED: usize = 256;

/// The state of a project: its hosts, work units and results, as its journal gives them.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    settings: Settings,
    units: BTreeMap<u64, WorkUnit>,
    /// Work units that were sent, and need another result.
    open_units: BTreeSet<u64>,
    /// The first work unit that was never sent.
    next_unit: u64,
    hosts: HashMap<String, u64>,
    /// The results that each host has.
    out: BTreeMap<u64, BTreeSet<ResultId>>,
    versions: Vec<Version>,
    counts: Counts,
}

/// How many hosts, work units and results a project has.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Work units that have their answer.
    pub answered: u64,
    /// Work units that were given up after too many failures.
    pub given_up: u64,
    /// Results that hosts have now.
    pub out: u64,
    /// Results sent so far.
    pub sent: u64,
    /// Results reported with an answer.
    pub valid: u64,
    /// Results reported without an answer.
    pub failed: u64,
    /// Results that were not reported in time.
    pub lost: u64,
    /// Hosts.
    pub hosts: u64,
    /// CPU time of all reported results, in seconds, as their hosts say.
    pub cpu: f64,
}

impl State {
    /// The state of a new project.
    pub fn new(settings: Settings) -> Self {
        State {
            settings,
            units: BTreeMap::new(),
            open_units: BTreeSet::new(),
            next_unit: 0,
            hosts: HashMap::new(),
            out: BTreeMap::new(),
            versions: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The project's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The numbers of hosts, work units and results.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether every work unit has its answer, or was given up.
    pub fn is_done(&self) -> bool {
        self.settings.units.is_some_and(|units| self.counts.answered + self.counts.given_up == units)
    }

    /// The application's latest version.
    pub fn version(&self) -> Option<&Version> {
        self.versions.last()
    }

    /// Every version of the application.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// The number of the host of that name.
    pub fn host_number(&self, name: &str) -> Option<u64> {
        self.hosts.get(name).copied()
    }

    /// Whether there is a host of that number.
    pub fn has_host(&self, host: u64) -> bool {
        (1..=self.counts.hosts).contains(&host)
    }

    /// The results that a host has.
    pub fn held_by(&self, host: u64) -> impl Iterator<Item = ResultId> + '_ {
        self.out.get(&host).into_iter().flatten().copied()
    }

    /// When a result must be reported, in Unix time.
    pub fn deadline(&self, result: ResultId) -> Option<f64> {
        self.instance(result).map(|instance| instance.deadline)
    }

    /// Whether a result's output may still be uploaded.
    pub fn awaits_output(&self, result: ResultId) -> bool {
        self.instance(result).is_some_and(|i| i.output.is_none() && !matches!(i.stage, Stage::Ended(_)))
    }

    /// Whether the result was ever sent.
    pub fn was_given_out(&self, result: ResultId) -> bool {
        self.instance(result).is_some()
    }

    /// Whether the result was sent to that host.
    pub fn was_given_to(&self, result: ResultId, host: u64) -> bool {
        self.instance(result).is_some_and(|instance| instance.host == host)
    }

    /// Whether a result is not needed any more.
    pub fn is_unneeded(&self, result: ResultId) -> bool {
        self.units.get(&result.unit).is_none_or(|unit| unit.answer.is_some() || unit.given_up)
    }

    /// The work units' answers: which result, and its digest.
    pub fn answers(&self) -> impl Iterator<Item = (ResultId, &str)> {
        self.units.iter().filter_map(|(number, unit)| {
            let instance = unit.answer?;
            Some((
                ResultId { unit: *number, instance },
                valid_digest(unit.instances.get(instance as usize)?)?,
            ))
        })
    }

    fn instance(&self, result: ResultId) -> Option<&Instance> {
        self.units.get(&result.unit)?.instances.get(result.instance as usize)
    }

    /// The lines for results whose deadline has passed.
    pub fn overdue_lines(&self, now: f64) -> Vec<Line> {
        let out = self.out.values().flatten();
        let late = out.filter(|result| self.deadline(**result).is_some_and(|deadline| deadline < now));
        late.map(|result| Line::Lost { result: *result, at: now }).collect()
    }

    /// The line for a result that `host` reports; `None` where the report changes nothing: the result is
    /// unknown, another host's, or reported before.
    pub fn report_line(
        &self,
        host: u64,
        result: ResultId,
        failure: Option<String>,
        cpu: f64,
        now: f64,
    ) -> Option<Line> {
        let counts =
            |instance: &&Instance| instance.host == host && !matches!(instance.stage, Stage::Ended(_));
        let instance = self.instance(result).filter(counts)?;
        let outcome = match (failure, &instance.output) {
            (Some(why), _) => Outcome::Failed { why },
            (None, Some(outcome)) => outcome.clone(),
            (None, None) => Outcome::Failed { why: "it was reported without its output".into() },
        };
        let cpu = if cpu.is_finite() { cpu.clamp(0.0, 1e12) } else { 0.0 };
        Some(Line::Reported { result, outcome, cpu, at: now })
    }

    /// The line for the next result that `host` may have; `None` where there is none.
    pub fn next_result_line(&self, host: u64, now: f64) -> Option<Line> {
        let unused = self.settings.range_of_unit(self.next_unit).map(|_| self.next_unit);
        // One host may have a result of each of them: to search them all for each result would take too long.
        let most = if unused.is_some() { SEARCHED } else { usize::MAX };
        let open = self.open_units.iter().copied().take(most).find(|unit| self.may_be_given(*unit, host));
        let unit = open.or(unused)?;
        let instance = self.units.get(&unit).map_or(0, |unit| unit.instances.len() as u32);
        let result = ResultId { unit, instance };
        Some(Line::Sent { result, host, at: now, deadline: now + self.settings.deadline })
    }

    /// Whether another result of that host could agree with the present ones.
    fn may_be_given(&self, unit: u64, host: u64) -> bool {
        let is_free = |i: &Instance| i.host != host || matches!(i.stage, Stage::Lost) || has_failed(i);
        self.settings.one_host || self.units.get(&unit).is_none_or(|unit| unit.instances.iter().all(is_free))
    }

    /// Applies a line.
    ///
    /// # Errors
    /// Where it cannot follow the lines so far: it is not of this journal.
    pub fn apply_line(&mut self, line: &Line) -> Result<(), String> {
        match line {
            Line::Project { .. } => return Err("a project begins twice".into()),
            Line::Address { .. } => {}
            Line::Version(version) => self.versions.push(version.clone()),
            Line::Host { host, name } => {
                if *host != self.counts.hosts + 1 || self.hosts.insert(name.clone(), *host).is_some() {
                    return Err(format!("host {host} comes out of order"));
                }
                self.counts.hosts = *host;
            }
            Line::Sent { result, host, deadline, .. } => self.sent(*result, *host, *deadline)?,
            Line::Uploaded { result, outcome } => {
                let instance = self.instance_mut(*result)?;
                if instance.output.replace(outcome.clone()).is_some() {
                    return Err(format!("{result} has its output twice"));
                }
            }
            Line::Reported { result, outcome, cpu, .. } => self.reported(*result, outcome, *cpu)?,
            Line::Lost { result, .. } => {
                let instance = self.instance_mut(*result)?;
                if instance.stage != Stage::Out {
                    return Err(format!("{result} is lost, but no host has it"));
                }
                instance.stage = Stage::Lost;
                self.counts.lost += 1;
                self.remove_from_host(*result);
            }
        }
        Ok(())
    }

    fn instance_mut(&mut self, result: ResultId) -> Result<&mut Instance, String> {
        let unit = self.units.get_mut(&result.unit);
        let instance = unit.and_then(|unit| unit.instances.get_mut(result.instance as usize));
        instance.ok_or_else(|| format!("{result} was never given out"))
    }

    fn sent(&mut self, result: ResultId, host: u64, deadline: f64) -> Result<(), String> {
        if !self.has_host(host)
            || self.settings.range_of_unit(result.unit).is_none()
            || result.unit > self.next_unit
        {
            return Err(format!("{result} cannot be given to host {host}"));
        }
        let unit = self.units.entry(result.unit).or_default();
        if unit.instances.len() != result.instance as usize {
            return Err(format!("{result} is given out of order"));
        }
        unit.instances.push(Instance { host, deadline, stage: Stage::Out, output: None, cpu: 0.0 });
        self.next_unit = self.next_unit.max(result.unit + 1);
        self.out.entry(host).or_default().insert(result);
        self.counts.out += 1;
        self.counts.sent += 1;
        self.update_unit(result.unit);
        Ok(())
    }

    fn reported(&mut self, result: ResultId, outcome: &Outcome, cpu: f64) -> Result<(), String> {
        let instance = self.instance_mut(result)?;
        let before = std::mem::replace(&mut instance.stage, Stage::Ended(outcome.clone()));
        instance.cpu = cpu;
        match before {
            Stage::Ended(_) => return Err(format!("{result} is reported twice")),
            Stage::Out => self.remove_from_host(result),
            Stage::Lost => {}
        }
        match outcome {
            Outcome::Valid { .. } => self.counts.valid += 1,
            Outcome::Failed { .. } => self.counts.failed += 1,
        }
        self.counts.cpu += cpu;
        self.update_unit(result.unit);
        Ok(())
    }

    /// A result is not with its host any more.
    fn remove_from_host(&mut self, result: ResultId) {
        let host = self.instance(result).map_or(0, |instance| instance.host);
        if self.out.get_mut(&host).is_some_and(|out| out.remove(&result)) {
            self.counts.out -= 1;
        }
        self.update_unit(result.unit);
    }

    /// Updates whether a work unit has its answer, is given up, or needs another result.
    fn update_unit(&mut self, number: u64) {
        let settings = self.settings;
        let Some(unit) = self.units.get_mut(&number) else { return };
        let (agreeing, first) = unit.largest_agreement(settings.one_host);
        if unit.answer.is_none() && !unit.given_up {
            if agreeing >= settings.quorum {
                unit.answer = first;
                self.counts.answered += 1;
            } else if unit.instances.iter().filter(|i| has_failed(i)).count() >= settings.errors as usize {
                unit.given_up = true;
                self.counts.given_up += 1;
            }
        }
        let out = unit.instances.iter().filter(|i| i.stage == Stage::Out).count() as u32;
        if unit.answer.is_none() && !unit.given_up && agreeing + out < settings.quorum {
            self.open_units.insert(number);
        } else {
            self.open_units.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests;
