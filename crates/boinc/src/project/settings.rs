//! A project's settings, fixed when it is made and kept in its journal.

use serde::{Deserialize, Serialize};

use crosstalk_core::Fault;

use crate::collatz::{BLOCKS_PER_RANGE, FIRST_NUMBER, NumberRange};

/// Seconds that checking a result may take on the machine that made the project: half of the time that a host
/// waits for the reply.
const CHECKING: f64 = 30.0;

/// The most numbers in a work unit.
const LARGEST: u64 = 1_000_000_000_000_000;

/// The settings of a project, such as the number and length of its work units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Number of work units; `None`: unlimited.
    pub units: Option<u64>,
    /// Numbers in a work unit.
    pub size: u64,
    /// CPU time of one, in seconds, on one core of the machine that made the project.
    pub task: f64,
    /// Number of results that must agree.
    pub quorum: u32,
    /// Whether all of these may come from one host. A host's agreement with itself only excludes random
    /// errors.
    pub one_host: bool,
    /// Seconds after which a result that is not reported counts as lost.
    pub deadline: f64,
    /// Results that a host may have at a time, for each of its processors.
    pub ahead: u32,
    /// Blocks of each result that are computed again to check it.
    pub checks: u32,
    /// Number of failed results after which a work unit is given up.
    pub errors: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            units: None,
            size: u64::from(BLOCKS_PER_RANGE),
            task: 10.0,
            quorum: 1,
            one_host: false,
            deadline: 24.0 * 3600.0,
            ahead: 4,
            checks: 1,
            errors: 20,
        }
    }
}

impl Settings {
    /// The settings with work units that take about `task` seconds, where a core does `rate` numbers per
    /// second.
    #[must_use]
    pub fn with_task_length(self, task: f64, rate: f64) -> Self {
        // The limit leaves numbers for as many work units as anyone can do.
        let size = ((task * rate) as u64).clamp(u64::from(BLOCKS_PER_RANGE), LARGEST);
        Settings { task, size, ..self }
    }

    /// Checks that the settings can work.
    ///
    /// # Errors
    /// Names the wrong one.
    pub fn check(&self) -> Result<(), Fault> {
        let wrong =
            |what: &str, place: &str| Err(Fault::usage(format!("expected {what}")).at(place.to_string()));
        let seconds = |value: f64| value.is_finite() && (0.01..=1e7).contains(&value);
        if self.units.is_some_and(|units| !(1..=10_000_000).contains(&units)) {
            return wrong("from 1 to 10,000,000 work units", "--units");
        }
        // These two are no options: a damaged journal has them.
        if !(u64::from(BLOCKS_PER_RANGE)..=LARGEST).contains(&self.size) {
            return wrong("a work unit of 128 to 10^15 numbers", "the project's settings");
        }
        if self.errors == 0 {
            return wrong(
                "at least one failed result before a work unit is given up",
                "the project's settings",
            );
        }
        if !seconds(self.task) {
            return wrong("a time from 10 ms to 100 days", "--task");
        }
        if !seconds(self.deadline) {
            return wrong("a time from 10 ms to 100 days", "--deadline");
        }
        if !(1..=100).contains(&self.quorum) {
            return wrong("from 1 to 100 results that agree", "--quorum");
        }
        if !(1..=10_000).contains(&self.ahead) {
            return wrong("from 1 to 10,000 results", "--ahead");
        }
        if self.checks > BLOCKS_PER_RANGE {
            return wrong("at most as many blocks as a result has, 128", "--checks");
        }
        let most = CHECKING * f64::from(BLOCKS_PER_RANGE) / f64::from(self.checks);
        if self.task > most {
            let what = format!("at most {most:.0} s, as {} of 128 blocks are computed again", self.checks);
            return wrong(&what, "--task")
                .map_err(|fault| fault.remedy("take shorter tasks, or check less of each: --checks 0"));
        }
        Ok(())
    }

    /// The numbers of a work unit; `None` where there is no such unit.
    pub fn range_of_unit(&self, unit: u64) -> Option<NumberRange> {
        if self.units.is_some_and(|units| unit >= units) {
            return None;
        }
        let from = FIRST_NUMBER.checked_add(unit.checked_mul(self.size)?)?;
        let to = from.checked_add(self.size)?;
        (to < u64::MAX / 4).then_some(NumberRange { from, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_units_follow_on_each_other_and_end() {
        let settings = Settings { units: Some(3), ..Settings::default() }.with_task_length(2.0, 1000.0);
        assert_eq!(settings.size, 2000);
        let spans: Vec<NumberRange> = (0..4).map_while(|unit| settings.range_of_unit(unit)).collect();
        assert_eq!(spans.len(), 3);
        assert!(spans.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(Settings { units: None, ..settings }.range_of_unit(u64::MAX), None);
    }

    #[test]
    fn a_wrong_setting_is_named() {
        let fine = Settings::default();
        assert_eq!(fine.check(), Ok(()));
        for (bad, place) in [
            (Settings { units: Some(0), ..fine }, "--units"),
            (Settings { task: f64::NAN, ..fine }, "--task"),
            (Settings { deadline: 0.0, ..fine }, "--deadline"),
            (Settings { quorum: 0, ..fine }, "--quorum"),
            (Settings { ahead: 0, ..fine }, "--ahead"),
            (Settings { checks: 129, ..fine }, "--checks"),
            (Settings { task: 86_400.0, ..fine }, "--task"),
            (Settings { size: 0, ..fine }, "the project's settings"),
            (Settings { errors: 0, ..fine }, "the project's settings"),
        ] {
            assert_eq!(bad.check().expect_err("refused").place.as_deref(), Some(place));
        }
        assert_eq!(Settings { task: 86_400.0, checks: 0, ..fine }.check(), Ok(()));
    }
}
