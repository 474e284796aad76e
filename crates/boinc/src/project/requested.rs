//! The settings that a user names: a new project gets them, an existing one must have them.

use std::path::Path;

use crosstalk_core::Fault;

use super::settings::Settings;

/// The settings that the user has asked for; those that are `None` have their defaults in a new project,
/// and any value in an existing one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestedSettings {
    /// See [`Settings::units`].
    pub units: Option<u64>,
    /// See [`Settings::task`].
    pub task: Option<f64>,
    /// See [`Settings::quorum`].
    pub quorum: Option<u32>,
    /// See [`Settings::one_host`]; `false`: not named.
    pub one_host: bool,
    /// See [`Settings::deadline`].
    pub deadline: Option<f64>,
    /// See [`Settings::ahead`].
    pub ahead: Option<u32>,
    /// See [`Settings::checks`].
    pub checks: Option<u32>,
}

impl RequestedSettings {
    /// The settings of a new project.
    ///
    /// # Errors
    /// Names the wrong one.
    pub fn for_new_project(&self) -> Result<Settings, Fault> {
        let default = Settings::default();
        let settings = Settings {
            units: self.units.or(default.units),
            task: self.task.unwrap_or(default.task),
            quorum: self.quorum.unwrap_or(default.quorum),
            one_host: self.one_host || default.one_host,
            deadline: self.deadline.unwrap_or(default.deadline),
            ahead: self.ahead.unwrap_or(default.ahead),
            checks: self.checks.unwrap_or(default.checks),
            ..default
        };
        settings.check().map(|()| settings)
    }

    /// Checks that the project in `folder`, `made` with these settings, has the ones that are named.
    ///
    /// # Errors
    /// Names the first that differs.
    pub fn check_agreement(&self, made: &Settings, folder: &Path) -> Result<(), Fault> {
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
    fn settings_that_are_not_named_are_defaults_in_a_new_project_and_kept_in_an_old_one() {
        let nothing = RequestedSettings::default();
        assert_eq!(nothing.for_new_project(), Ok(Settings::default()));
        let made = Settings { units: Some(7), quorum: 3, one_host: true, ..Settings::default() };
        assert_eq!(nothing.check_agreement(&made, Path::new("p")), Ok(()));
    }

    #[test]
    fn an_existing_project_keeps_its_settings() {
        let made = Settings { units: Some(7), ..Settings::default() };
        let same = RequestedSettings {
            units: Some(7),
            task: Some(made.task),
            quorum: Some(1),
            ..RequestedSettings::default()
        };
        assert_eq!(same.check_agreement(&made, Path::new("p")), Ok(()));
        for (requested, place) in [
            (RequestedSettings { units: Some(8), ..same }, "--units"),
            (RequestedSettings { task: Some(1.0), ..same }, "--task"),
            (RequestedSettings { quorum: Some(2), ..same }, "--quorum"),
            (RequestedSettings { one_host: true, ..same }, "--one-host"),
            (RequestedSettings { deadline: Some(1.0), ..same }, "--deadline"),
            (RequestedSettings { ahead: Some(1), ..same }, "--ahead"),
            (RequestedSettings { checks: Some(0), ..same }, "--checks"),
        ] {
            let fault = requested.check_agreement(&made, Path::new("p")).expect_err("differs");
            assert_eq!(fault.place.as_deref(), Some(place));
            assert!(requested.for_new_project().is_ok(), "a new one may");
        }
    }
}
