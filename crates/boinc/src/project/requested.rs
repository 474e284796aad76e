//! What is asked of a project: of a new one what it is to do, of one that is there that it does so.

use std::path::Path;

use crosstalk_core::Fault;

use super::settings::Settings;

/// Settings of which some are left to what is usual, or to what the project was made with.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestedSettings {
    /// See [`Settings::units`].
    pub units: Option<u64>,
    /// See [`Settings::task`].
    pub task: Option<f64>,
    /// See [`Settings::quorum`].
    pub quorum: Option<u32>,
    /// See [`Settings::one_host`]; unless it is wanted, it is left.
    pub one_host: bool,
    /// See [`Settings::deadline`].
    pub deadline: Option<f64>,
    /// See [`Settings::ahead`].
    pub ahead: Option<u32>,
    /// See [`Settings::checks`].
    pub checks: Option<u32>,
}

impl RequestedSettings {
    /// Those of a new project.
    ///
    /// # Errors
    /// Names the one that makes no sense.
    pub fn settings(&self) -> Result<Settings, Fault> {
        let usual = Settings::default();
        let settings = Settings {
            units: self.units.or(usual.units),
            task: self.task.unwrap_or(usual.task),
            quorum: self.quorum.unwrap_or(usual.quorum),
            one_host: self.one_host || usual.one_host,
            deadline: self.deadline.unwrap_or(usual.deadline),
            ahead: self.ahead.unwrap_or(usual.ahead),
            checks: self.checks.unwrap_or(usual.checks),
            ..usual
        };
        settings.check().map(|()| settings)
    }

    /// That the project in `folder` was `made` so: an old one becomes no other.
    ///
    /// # Errors
    /// Names the first that differs.
    pub fn agrees(&self, made: &Settings, folder: &Path) -> Result<(), Fault> {
        let differs = [
            ("--units", self.units.is_some() && self.units != made.units),
            ("--task", self.task.is_some_and(|task| task != made.task)),
            ("--quorum", self.quorum.is_some_and(|quorum| quorum != made.quorum)),
            ("--one-host", self.one_host && !made.one_host),
            ("--deadline", self.deadline.is_some_and(|deadline| deadline != made.deadline)),
            ("--ahead", self.ahead.is_some_and(|ahead| ahead != made.ahead)),
            ("--checks", self.checks.is_some_and(|checks| checks != made.checks)),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            None => Ok(()),
            Some((place, _)) => {
                Err(Fault::usage(format!("the project in {} was made with another value", folder.display()))
                    .at(*place)
                    .remedy("leave the option out, or make another project in another directory"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_usual_in_a_new_project_and_left_in_an_old_one() {
        let nothing = RequestedSettings::default();
        assert_eq!(nothing.settings(), Ok(Settings::default()));
        let made = Settings { units: Some(7), quorum: 3, one_host: true, ..Settings::default() };
        assert_eq!(nothing.agrees(&made, Path::new("p")), Ok(()));
    }

    #[test]
    fn an_old_project_becomes_no_other() {
        let made = Settings { units: Some(7), ..Settings::default() };
        let same = RequestedSettings {
            units: Some(7),
            task: Some(made.task),
            quorum: Some(1),
            ..RequestedSettings::default()
        };
        assert_eq!(same.agrees(&made, Path::new("p")), Ok(()));
        for (requested, place) in [
            (RequestedSettings { units: Some(8), ..same }, "--units"),
            (RequestedSettings { task: Some(1.0), ..same }, "--task"),
            (RequestedSettings { quorum: Some(2), ..same }, "--quorum"),
            (RequestedSettings { one_host: true, ..same }, "--one-host"),
            (RequestedSettings { deadline: Some(1.0), ..same }, "--deadline"),
            (RequestedSettings { ahead: Some(1), ..same }, "--ahead"),
            (RequestedSettings { checks: Some(0), ..same }, "--checks"),
        ] {
            let fault = requested.agrees(&made, Path::new("p")).expect_err("differs");
            assert_eq!(fault.place.as_deref(), Some(place));
            assert!(requested.settings().is_ok(), "a new one may");
        }
    }
}
