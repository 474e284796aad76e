//! A real client in a directory of its own, which ends with its owner.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::client::{Client, NAMES, PASSWORD, Preferences, preferences};
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_host::process::fresh_mark;

use super::client_files;
use super::project::{Attachment, TRANSFERS};
use crosstalk_work::peer::Until;
use crosstalk_work::program;
use crosstalk_work::program::Program;

/// Between two looks at something that is to come.
const POLL: Duration = Duration::from_millis(200);

/// How long a client may take until it answers.
const START: Duration = Duration::from_secs(30);

/// What would have it go through others.
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

/// What brings one.
pub const INSTALL: &str = "apt-get install --no-install-recommends boinc-client";

/// The client's program: Debian's `boinc`.
pub fn find() -> Option<PathBuf> {
    NAMES.into_iter().find_map(|name| program::find(name).ok())
}

/// What the workload needs of a machine.
pub fn need() -> Need {
    match find() {
        Some(path) => Need::found("a BOINC client", path.display().to_string()),
        None => Need::missing("a BOINC client", "no external work can be done through BOINC", INSTALL),
    }
}

/// What a client is to be.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup<'a> {
    /// The directory of its data.
    pub folder: &'a Path,
    /// Processors that it takes itself to have.
    pub cores: u32,
    /// What it uses of them, whatever else this machine does.
    pub share: &'a Preferences,
    /// The project that it is attached to from the beginning; none where nobody says.
    pub project: Option<&'a Attachment>,
}

/// A client that runs. Dropping it ends it and its tasks.
pub struct ClientProcess {
    program: Program,
    client: Client,
}

impl ClientProcess {
    /// Starts one.
    ///
    /// # Errors
    /// When there is none, or it does not come up.
    pub fn start(setup: &ClientSetup<'_>, until: &Until) -> Result<Self, Fault> {
        Self::start_by(|client| Command::new(client), setup, until)
    }

    /// The same for one whose program another command starts.
    ///
    /// # Errors
    /// See [`ClientProcess::start`].
    pub fn start_by(
        launch: impl FnOnce(&Path) -> Command,
        setup: &ClientSetup<'_>,
        until: &Until,
    ) -> Result<Self, Fault> {
        let ClientSetup { folder, cores, share, project } = *setup;
        let binary =
            find().ok_or_else(|| Fault::environment("there is no BOINC client here").remedy(INSTALL))?;
        let password = fresh_mark()?;
        let known = project.map(|project| Ok((project, version(&binary, until)?))).transpose()?;
        let furnished = write_settings(folder, cores, share, &password).and_then(|()| {
            known.map_or(Ok(()), |(project, version)| write_attachment(folder, project, version))
        });
        furnished.map_err(|e| {
            Fault::environment(format!("cannot set up a BOINC client: {e}")).at(folder.display().to_string())
        })?;
        let port = free_port()?;
        let mut command = launch(&binary);
        command.arg("--dir").arg(folder).args(["--gui_rpc_port", &port.to_string()]).current_dir(folder);
        command.args(["--allow_multiple_clients", "--no_gpus", "--no_info_fetch", "--skip_cpu_benchmarks"]);
        // Everything is on this machine: who waits does not wait for a better network.
        for delay in ["--pers_retry_delay_min", "--sched_retry_delay_min"] {
            command.args([delay, "1"]);
        }
        for delay in ["--pers_retry_delay_max", "--sched_retry_delay_max"] {
            command.args([delay, "5"]);
        }
        for variable in PROXIES {
            command.env_remove(variable);
        }
        let program = Program::start(command, fresh_mark()?)?;
        let mut client =
            Client::new((Ipv4Addr::LOCALHOST, port).into(), Some(password)).within(Duration::from_secs(5));
        let until = until.within(START);
        while client.version().is_err() {
            until.check("the BOINC client to answer").map_err(|fault| died(&program, fault))?;
            if !program.is_running() {
                return Err(died(&program, Fault::attempt("the BOINC client ended at its start")));
            }
            thread::sleep(POLL);
        }
        Ok(ClientProcess { program, client })
    }

    /// Its own interface.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A fault where it has ended.
    ///
    /// # Errors
    /// With the last that it wrote.
    pub fn check(&self) -> Result<(), Fault> {
        if self.program.is_running() {
            return Ok(());
        }
        Err(self.ended())
    }

    /// Processor seconds that its tasks have used so far, as the kernel counts them: it starts each as a process
    /// of its own. It itself hears of them a second late.
    ///
    /// # Errors
    /// When it has ended, or its tasks come and go too quickly to be counted.
    pub fn background_cpu_time(&self) -> Result<f64, Fault> {
        let Some(time) = self.program.children_cpu() else {
            self.check()?;
            return Err(Fault::attempt("the BOINC client's tasks come and go too quickly to be counted"));
        };
        Ok(time.as_secs_f64())
    }

    fn ended(&self) -> Fault {
        died(&self.program, Fault::attempt("the BOINC client ended in mid-run"))
    }

    /// Waits until so many tasks compute: run, as the client says of one that it has only just started, too,
    /// and have told it of processor time.
    ///
    /// # Errors
    /// When they do not in time.
    pub fn steady(&mut self, tasks: usize, until: &Until) -> Result<(), Fault> {
        let mut running = 0;
        loop {
            if let Err(fault) = until.check("all tasks to compute") {
                let fault = Fault { message: format!("{}: {running} of {tasks} do", fault.message), ..fault };
                return Err(died(&self.program, fault));
            }
            self.check()?;
            running = self.client.tasks()?.iter().filter(|task| task.runs() && task.cpu() > 0.0).count();
            if running >= tasks {
                return Ok(());
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        // In good order it takes seven seconds, and nobody reads what it would write.
        self.program.kill();
    }
}

/// Adds what the client wrote last.
fn died(program: &Program, fault: Fault) -> Fault {
    let said = program.last_words();
    let said =
        if said.is_empty() { "it wrote nothing".to_string() } else { format!("the last it wrote:\n{said}") };
    Fault { message: format!("{}; {said}", fault.message), ..fault }
}

/// Writes the client's settings.
fn write_settings(folder: &Path, cores: u32, share: &Preferences, password: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let options = [
        ("ncpus", cores),
        ("no_gpus", 1),
        ("no_info_fetch", 1),
        ("skip_cpu_benchmarks", 1),
        ("dont_contact_ref_site", 1),
        ("suppress_net_info", 1),
        ("allow_multiple_clients", 1),
        ("fetch_on_update", 1),
        ("report_results_immediately", 1),
        ("max_file_xfers", TRANSFERS),
        ("max_file_xfers_per_project", TRANSFERS),
    ];
    let options: String = options.iter().map(|(name, value)| format!("<{name}>{value}</{name}>\n")).collect();
    fs::write(
        folder.join("cc_config.xml"),
        format!("<cc_config>\n<options>\n{options}</options>\n</cc_config>\n"),
    )?;
    fs::write(folder.join("global_prefs_override.xml"), preferences(share))?;
    write_private(&folder.join(PASSWORD), password)
}

/// What a client says its version is; zeros where it says none.
fn version(client: &Path, until: &Until) -> Result<[u32; 3], Fault> {
    let mut command = Command::new(client);
    command.arg("--version");
    let mut asked = Program::start(command, fresh_mark()?)?;
    asked.watch(&[], &until.within(START))?;
    asked.end()?;
    Ok(client_files::version(&String::from_utf8_lossy(&asked.written())))
}

/// Writes what a client is to know of a project.
fn write_attachment(folder: &Path, project: &Attachment, version: [u32; 3]) -> io::Result<()> {
    let (account, text) = client_files::account_file(project);
    write_private(&folder.join(account), &text)?;
    fs::write(folder.join("client_state.xml"), client_files::state_file(project, version))
}

/// Writes what is for nobody else.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600).open(path)?.write_all(text.as_bytes())
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
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn the_password_and_the_accounts_key_are_for_nobody_else() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        write_settings(folder.path(), 50, &Preferences::default(), "secret").expect("writes");
        let mode = fs::metadata(folder.path().join(PASSWORD)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let config = fs::read_to_string(folder.path().join("cc_config.xml")).expect("is there");
        assert!(config.contains("<ncpus>50</ncpus>"));
        let project = Attachment { url: "http://127.0.0.1:8470/project/".into(), key: "secret".into() };
        write_attachment(folder.path(), &project, [7, 20, 5]).expect("writes");
        let account = fs::metadata(folder.path().join("account_127.0.0.1_8470_project.xml"));
        assert_eq!(account.expect("is there").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_real_client_comes_up_is_asked_and_goes() {
        if find().is_none() {
            eprintln!("skipped: no BOINC client here");
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let never = AtomicBool::new(false);
        let until = Until::new(Seconds(60.0), &never);
        let share = Preferences::default();
        let setup = ClientSetup { folder: folder.path(), cores: 3, share: &share, project: None };
        let mut host = ClientProcess::start(&setup, &until).expect("starts");
        assert_eq!(host.client().version().map(|version| version[0]), Ok(7));
        assert!(host.client().tasks().expect("tells").is_empty());
        host.client().set_mode(crate::client::Mode::Never, Some(Duration::from_secs(60))).expect("is set");
        let status = host.client().status().expect("tells");
        assert!(status.mode == 3 && status.mode_ends_in > 0.0, "{status:?}");
        host.client().set_cores(Some(7)).expect("is set");
        let config = host.client().config().expect("tells");
        assert!(config.contains("<ncpus>7</ncpus>") && config.contains("<no_gpus>1</no_gpus>"), "{config}");
        let mut stranger = Client::new(host.client().address(), Some("guess".into()));
        assert!(stranger.quit().expect_err("refused").message.contains("password"));
        host.check().expect("runs");
    }
}
