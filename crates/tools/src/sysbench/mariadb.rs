//! A MariaDB server with a directory, a socket and tables of its own.
//!
//! It runs on between attempts, because starting it and filling its tables take seconds. It ends
//! with the agent, whose processes the testbed ends. Its directory is deleted with the cluster.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::message::Part;

use super::run::sysbench;
use crate::external::run_to_end;
use crosstalk_work::peer::Deadline;
use crosstalk_work::program::{Program, find, fresh_mark};

/// The tables that a database server is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// How many.
    pub count: u64,
    /// Rows in each.
    pub rows: u64,
    /// Bytes of memory for pages.
    pub memory: u64,
}

/// The longest start.
const START: Duration = Duration::from_secs(60);

/// The most bytes of a socket's path (unix(7)).
const LONGEST_PATH: usize = 107;

/// A running MariaDB server with its tables.
pub struct Server {
    program: Program,
    tables: Tables,
    socket: PathBuf,
}

static KEPT: Mutex<Option<Server>> = Mutex::new(None);

/// Ends the server that was kept for the next attempt.
pub fn end_kept_server() {
    lock().take();
}

fn lock() -> std::sync::MutexGuard<'static, Option<Server>> {
    // A panic leaves the option whole.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// A server with such tables: the previous attempt's, or a new one.
    ///
    /// # Errors
    /// Where a program is missing or fails, with its last output.
    pub fn with_tables(tables: &Tables, part: &Part) -> Result<Self, Fault> {
        let kept = lock().take();
        match kept {
            Some(server) if server.tables == *tables && server.program.is_running() => Ok(server),
            // A server with other tables would take memory from the new one.
            other => {
                drop(other);
                Server::start(tables, part)
            }
        }
    }

    /// Keeps the server for the next attempt.
    pub fn keep_for_next(self) {
        *lock() = Some(self);
    }

    /// sysbench's arguments for this server and its tables.
    pub fn sysbench_arguments(&self) -> Vec<String> {
        vec![
            "oltp_read_write".into(),
            "--db-driver=mysql".into(),
            format!("--mysql-socket={}", self.socket.display()),
            "--mysql-user=root".into(),
            "--mysql-db=crosstalk".into(),
            format!("--tables={}", self.tables.count),
            format!("--table-size={}", self.tables.rows),
        ]
    }

    fn start(tables: &Tables, part: &Part) -> Result<Self, Fault> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = part.scratch.join(format!("mariadb-{}-{number}", std::process::id()));
        let failed = |e: std::io::Error| {
            Fault::environment(format!("cannot make a folder for MariaDB: {e}"))
                .at(folder.display().to_string())
        };
        fs::create_dir_all(&folder).map_err(failed)?;
        let socket = folder.join("s");
        if socket.as_os_str().len() > LONGEST_PATH {
            return Err(Fault::environment("the path of MariaDB's socket is too long")
                .at(socket.display().to_string())
                .remedy("set TMPDIR to a folder with a short path"));
        }
        let never = AtomicBool::new(false);
        let until = Deadline::new(part.deadline, &never);
        let data = folder.join("data");
        run_to_end("mariadb-install-db", &mut install(&data)?, &until)?;
        let program = Program::start(server(&data, &socket, tables)?, fresh_mark())?;
        let server = Server { program, tables: *tables, socket };
        server.await_answer(&until.at_most(START))?;
        run_to_end("mariadb", &mut client(&server.socket)?, &until)?;
        let arguments = [server.sysbench_arguments(), vec!["--threads=4".into(), "prepare".into()]].concat();
        sysbench(&arguments, &until)?;
        Ok(server)
    }

    fn await_answer(&self, until: &Deadline) -> Result<(), Fault> {
        while UnixStream::connect(&self.socket).is_err() {
            until.check("MariaDB to start")?;
            if !self.program.is_running() {
                let output = self.program.last_lines();
                return Err(Fault::attempt(format!("mariadbd has ended; its last output:\n{output}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// Creates the files of an empty server. Its root needs no password: only this user can reach its
/// socket.
fn install(data: &Path) -> Result<Command, Fault> {
    let mut command = Command::new(find("mariadb-install-db")?);
    command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
    command.arg(format!("--datadir={}", data.display())).args(user());
    Ok(command)
}

fn server(data: &Path, socket: &Path, tables: &Tables) -> Result<Command, Fault> {
    let mut command = Command::new(find("mariadbd")?);
    command.args(["--no-defaults", "--skip-networking"]).args(user());
    command.arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={}", socket.display()));
    command.arg(format!("--pid-file={}", data.join("pid").display()));
    command.arg(format!("--innodb-buffer-pool-size={}", tables.memory));
    Ok(command)
}

fn client(socket: &Path) -> Result<Command, Fault> {
    let mut command = Command::new(find("mariadb")?);
    command.args(["--no-defaults", "--user=root", "--execute=CREATE DATABASE crosstalk"]);
    command.arg(format!("--socket={}", socket.display()));
    Ok(command)
}

/// MariaDB runs as root only with this option.
fn user() -> Option<&'static str> {
    crosstalk_host::user::is_root().then_some("--user=root")
}
