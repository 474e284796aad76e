//! Pauses a client by its own interface, for a time after which it resumes by itself.

use std::time::Duration;

use crosstalk_core::Fault;

use super::password::{PASSWORD, password};
use super::{Client, ClientSelector, RunningClient};

/// What the client is called, for people.
pub const NAME: &str = "BOINC";

/// How long an answer may take: the guard does not sample meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// A client that can be paused.
#[derive(Debug)]
pub struct Pauser {
    client: Client,
    /// Whether the client's mode is the one set here.
    paused: bool,
}

impl Pauser {
    /// Opens a conversation with the client, with the password that `way` names or that is in the
    /// client's data directory.
    ///
    /// # Errors
    /// Where the password cannot be read or is a wrong one, or the client does not answer.
    pub fn new(found: &RunningClient, way: &ClientSelector) -> Result<Self, Fault> {
        let there = || found.folder.as_ref().map(|folder| folder.join(PASSWORD));
        let file = way.password.clone().or_else(there).ok_or_else(|| {
            Fault::environment("the data directory of BOINC's client is not known, and so not its password")
                .at(format!("process {}", found.pid))
                .remedy("name the file: --boinc-password-file FILE; or guard as root")
        })?;
        let user = way.password.is_none().then_some(found.user);
        let mut client = Client::new(found.address, Some(password(&file, user)?)).within(PATIENCE);
        client.status()?;
        Ok(Pauser { client, paused: false })
    }

    /// Pauses the client for so long, unless its owner has paused it for longer.
    ///
    /// # Errors
    /// Where the client refuses, or does not answer.
    pub fn pause(&mut self, time: Duration) -> Result<(), Fault> {
        let status = self.client.status()?;
        let lasts = status.mode_ends_in == 0.0 || status.mode_ends_in > time.as_secs_f64();
        if !self.paused && status.is_paused() && lasts {
            return Ok(());
        }
        self.client.pause(time)?;
        self.paused = true;
        Ok(())
    }

    /// Ends the pause that was set here, if there is one.
    ///
    /// # Errors
    /// Where the client refuses, or does not answer.
    pub fn resume(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.paused) {
            return self.client.resume();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::mock::MockClient;
    use crosstalk_cgroup::process::one;
    use std::fs;
    use std::path::Path;

    type Answers = &'static [(&'static str, &'static str)];
    const RUNS: Answers = &[(
        "<get_cc_status",
        "<cc_status><task_mode>2</task_mode><task_mode_perm>2</task_mode_perm></cc_status>",
    )];

    /// A mock as it is found, as a process of this user's.
    fn found(mock: &MockClient, folder: &Path) -> RunningClient {
        let user = one(std::process::id()).expect("is there").user;
        RunningClient { pid: 1, user, address: mock.address, folder: Some(folder.into()) }
    }

    /// A client that can be paused, its mock, and its data directory.
    fn pauser(answers: Answers) -> (Pauser, MockClient, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join(PASSWORD), "secret").expect("writes");
        let mock = MockClient::start("secret", answers, usize::MAX);
        let found = found(&mock, folder.path());
        (Pauser::new(&found, &ClientSelector::default()).expect("answers"), mock, folder)
    }

    fn modes(mock: &MockClient) -> Vec<String> {
        mock.requests().into_iter().filter(|asked| asked.starts_with("<set_run_mode")).collect()
    }

    #[test]
    fn it_pauses_for_a_time_and_resumes() {
        let (mut pauser, mock, _folder) = pauser(RUNS);
        pauser.resume().expect("there is nothing to do");
        pauser.pause(Duration::from_secs(8)).expect("is done");
        pauser.resume().expect("is done");
        let asked = modes(&mock);
        assert_eq!(asked.len(), 2, "{asked:?}");
        assert!(asked[0].contains("<never/>") && asked[0].contains("8.000"), "{asked:?}");
        assert!(asked[1].contains("<restore/>"), "{asked:?}");
    }

    #[test]
    fn a_longer_pause_of_its_owner_stays() {
        let (mut pauser, mock, _folder) =
            pauser(&[("<get_cc_status", "<cc_status><task_mode>3</task_mode></cc_status>")]);
        pauser.pause(Duration::from_secs(8)).expect("is so already");
        pauser.resume().expect("is not ours to do");
        assert_eq!(modes(&mock), [] as [String; 0]);
    }

    #[test]
    fn a_wrong_password_is_reported_before_anything_is_done() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mock = MockClient::start("secret", RUNS, usize::MAX);
        let found = found(&mock, folder.path());
        let file = folder.path().join("mine");
        fs::write(&file, "guess").expect("writes");
        let way = ClientSelector { address: None, password: Some(file) };
        let fault = Pauser::new(&found, &way).expect_err("refused");
        assert!(fault.message.contains("password"), "{fault}");
        let fault = Pauser::new(&found, &ClientSelector::default()).expect_err("has none");
        assert!(fault.place.is_some_and(|place| place.ends_with(PASSWORD)));
        assert_eq!(modes(&mock), [] as [String; 0]);
    }

    #[test]
    fn a_password_of_another_user_is_read_only_where_it_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mock = MockClient::start("secret", RUNS, usize::MAX);
        let file = folder.path().join(PASSWORD);
        fs::write(&file, "secret").expect("writes");
        let mine = found(&mock, folder.path());
        let other = RunningClient { user: mine.user + 1, ..mine };
        let fault = Pauser::new(&other, &ClientSelector::default()).expect_err("is refused");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("--boinc-password-file")));
        assert_eq!(mock.requests(), [] as [String; 0]);
        let way = ClientSelector { address: None, password: Some(file) };
        Pauser::new(&other, &way).expect("answers");
    }
}
