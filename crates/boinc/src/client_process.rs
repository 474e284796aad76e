//! A real client in a directory of its own, which ends when this process does.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::client::{Client, NAMES};
use crate::preferences::Preferences;
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::process::{Account, fresh_mark};

use super::client_files::{self, write_attachment, write_settings};
use super::project::Attachment;
use crosstalk_work::peer::Deadline;
use crosstalk_work::program;
use crosstalk_work::program::Program;

/// How often a wait checks for what it waits for.
const POLL: Duration = Duration::from_millis(200);

/// How long a client may take to answer its first request.
const START: Duration = Duration::from_secs(30);

/// Variables that would send its connections through a proxy.
const PROXIES: [&str; 8] = [
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "SOCKS_SERVER",
    "SOCKS5_SERVER",
];

/// The command that installs a client.
pub const INSTALL: &str = "apt-get install --no-install-recommends boinc-client";

/// The client's program: Debian's `boinc`.
pub fn find_client_program() -> Option<PathBuf> {
    NAMES.into_iter().find_map(|name| program::find(name).ok())
}

/// What the workload needs of a machine.
pub fn client_need() -> Need {
    match find_client_program() {
        Some(path) => Need::found("a BOINC client", path.display().to_string()),
        None => Need::missing("a BOINC client", "no background work can run through BOINC", INSTALL),
    }
}

/// What a client is started with: its project, processors and folders.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// Its data directory.
    pub folder: &'a Path,
    /// Processors that it is set to have.
    pub cores: u32,
    /// Its share of the machine.
    pub share: &'a Preferences,
    /// The project that it is attached to from its start; `None`: no project.
    pub project: Option<&'a Attachment>,
}

/// A client that runs. Dropping it ends it and its tasks.
pub struct ClientProcess {
    program: Program,
    client: Client,
}

impl ClientProcess {
    /// Starts a client; where this process is root's, as `nobody`, to whom its data directory goes. It then
    /// ends with the thread that starts it.
    ///
    /// # Errors
    /// An environment fault where no client is installed or it cannot be set up; an attempt fault where it
    /// does not answer.
    pub fn start(setup: &ClientSetup<'_>, until: &Deadline) -> Result<Self, Fault> {
        Self::start_as(Account::unprivileged()?, |client| Command::new(client), setup, until)
    }

    /// The same as the user of this process, where `launch` makes the command that starts the client's program.
    ///
    /// # Errors
    /// See [`ClientProcess::start`].
    pub fn start_with(
        launch: impl FnOnce(&Path) -> Command,
        setup: &ClientSetup<'_>,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        Self::start_as(None, launch, setup, until)
    }

    /// As `account`, or as the user of this process.
    fn start_as(
        account: Option<Account>,
        launch: impl FnOnce(&Path) -> Command,
        setup: &ClientSetup<'_>,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        let ClientSetup { folder, cores, share, project } = *setup;
        let binary = find_client_program()
            .ok_or_else(|| Fault::environment("there is no BOINC client here").remedy(INSTALL))?;
        let password = fresh_mark()?;
        let attachment =
            project.map(|project| Ok((project, version(&binary, account, until)?))).transpose()?;
        let written = write_settings(folder, cores, share, &password).and_then(|()| {
            attachment.map_or(Ok(()), |(project, version)| write_attachment(folder, project, version))
        });
        let opened = written.and_then(|()| File::open(folder)).map_err(|e| {
            Fault::environment(format!("cannot set up a BOINC client: {e}")).at(folder.display().to_string())
        })?;
        let port = free_port()?;
        let mut command = launch(&binary);
        // Another user may not reach it by its path, but starts in it.
        let path = account.map_or(folder, |_| Path::new("."));
        command.arg("--dir").arg(path).args(["--gui_rpc_port", &port.to_string()]).current_dir(folder);
        command.args(["--allow_multiple_clients", "--no_gpus", "--no_info_fetch", "--skip_cpu_benchmarks"]);
        // Everything is on this machine: retries need not wait for a network.
        for delay in ["--pers_retry_delay_min", "--sched_retry_delay_min"] {
            command.args([delay, "1"]);
        }
        for delay in ["--pers_retry_delay_max", "--sched_retry_delay_max"] {
            command.args([delay, "5"]);
        }
        for variable in PROXIES {
            command.env_remove(variable);
        }
        if let Some(account) = account {
            account.hand_over(&opened, |_| true)?;
            account.run_as_user(&mut command);
        }
        let program = Program::start(command, fresh_mark()?)?;
        let mut client =
            Client::new((Ipv4Addr::LOCALHOST, port).into(), Some(password)).within(Duration::from_secs(5));
        let until = until.at_most(START);
        while client.version().is_err() {
            until.check("the BOINC client to answer").map_err(|fault| died(&program, fault))?;
            if !program.is_running() {
                return Err(died(&program, Fault::attempt("the BOINC client ended at its start")));
            }
            thread::sleep(POLL);
        }
        Ok(ClientProcess { program, client })
    }

    /// The connection to its own interface.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Checks that it still runs.
    ///
    /// # Errors
    /// An attempt fault with the last that it wrote.
    pub fn check(&self) -> Result<(), Fault> {
        if self.program.is_running() {
            return Ok(());
        }
        Err(self.ended())
    }

    /// CPU time that its tasks have used so far, in seconds. The kernel counts it: the client starts each
    /// task as a process. The client itself learns of it a second late.
    ///
    /// # Errors
    /// Where it has ended, or its tasks start and end too quickly to be counted.
    pub fn background_cpu_time(&self) -> Result<f64, Fault> {
        let Some(time) = self.program.children_cpu() else {
            self.check()?;
            return Err(Fault::attempt("the BOINC client's tasks come and go too quickly to be counted"));
        };
        Ok(time.as_secs_f64())
    }

    fn ended(&self) -> Fault {
        died(&self.program, Fault::attempt("the BOINC client ended during the run"))
    }

    /// Waits until so many tasks compute: the client says that they run, and they have reported CPU time. The
    /// client says the first of tasks that it has only just started, too.
    ///
    /// # Errors
    /// An attempt fault where they do not in time.
    pub fn wait_until_steady(&mut self, tasks: usize, until: &Deadline) -> Result<(), Fault> {
        let mut running = 0;
        loop {
            if let Err(fault) = until.check("all tasks to compute") {
                let fault = Fault { message: format!("{}: {running} of {tasks} do", fault.message), ..fault };
                return Err(died(&self.program, fault));
            }
            self.check()?;
            running = self.client.tasks()?.iter().filter(|task| task.runs && task.cpu > 0.0).count();
            if running >= tasks {
                return Ok(());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        // An orderly end takes seven seconds, and nothing that it would write is needed.
        self.program.kill();
    }
}

/// Adds the last that the client wrote.
fn died(program: &Program, fault: Fault) -> Fault {
    let said = program.last_lines();
    let said =
        if said.is_empty() { "it wrote nothing".to_string() } else { format!("the last it wrote:\n{said}") };
    Fault { message: format!("{}; {said}", fault.message), ..fault }
}

/// The version that the program reports; zeros where it reports none.
fn version(client: &Path, account: Option<Account>, until: &Deadline) -> Result<[u32; 3], Fault> {
    let mut command = Command::new(client);
    command.arg("--version");
    if let Some(account) = account {
        account.run_as_user(&mut command);
    }
    let mut program = Program::start(command, fresh_mark()?)?;
    program.watch(&[], &until.at_most(START))?;
    program.end()?;
    Ok(client_files::parse_version(&String::from_utf8_lossy(&program.last_output())))
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, Fault> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    bound.map(|at: SocketAddr| at.port()).map_err(|e| Fault::environment(format!("cannot listen: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_real_client_starts_answers_and_ends() {
        if find_client_program().is_none() {
            eprintln!("skipped: no BOINC client here");
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let never = AtomicBool::new(false);
        let until = Deadline::new(Seconds(60.0), &never);
        let share = Preferences::default();
        let setup = ClientSetup { folder: folder.path(), cores: 3, share: &share, project: None };
        let mut host = ClientProcess::start(&setup, &until).expect("starts");
        assert_eq!(host.client().version().map(|version| version[0]), Ok(7));
        assert!(host.client().tasks().expect("answers").is_empty());
        host.client().pause(Duration::from_secs(60)).expect("is done");
        let status = host.client().status().expect("answers");
        assert!(status.is_paused() && status.mode_ends_in > 0.0, "{status:?}");
        let mut intruder = Client::new(host.client().address(), Some("guess".into()));
        assert!(intruder.command("<quit/>").expect_err("refused").message.contains("password"));
        host.check().expect("runs");
    }
}
