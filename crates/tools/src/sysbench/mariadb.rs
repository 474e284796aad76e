//! A MariaDB server with a directory, a socket and tables of its own.
//!
//! It stays between attempts: to start it and to fill its tables takes seconds. It ends with
//! the agent, whose processes the testbed ends with it, and its directory goes with the cluster.

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

use super::run::{finish, sysbench};
use crosstalk_work::peer::Until;
use crosstalk_work::program::find;
use crosstalk_work::program::{Program, fresh};

/// What it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// Tables.
    pub count: u64,
    /// Rows in each.
    pub rows: u64,
    /// Bytes that the server keeps pages in.
    pub memory: u64,
}

/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(60);

/// A path of a socket has no more bytes than so (unix(7)), with its end.
const LONGEST_PATH: usize = 107;

/// A server that runs and has its tables.
pub struct Server {
    program: Program,
    tables: Tables,
    socket: PathBuf,
}

static KEPT: Mutex<Option<Server>> = Mutex::new(None);

/// Ends the server that is kept.
pub fn close() {
    lock().take();
}

fn lock() -> std::sync::MutexGuard<'static, Option<Server>> {
    // Whoever panicked held nothing half done.
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// One with such tables: that of the attempt before, or a new one.
    ///
    /// # Errors
    /// That a program is missing or fails, with what it said last.
    pub fn of(tables: &Tables, part: &Part) -> Result<Self, Fault> {
        let kept = lock().take();
        match kept {
            Some(server) if server.tables == *tables && server.program.is_running() => Ok(server),
            // Another one's memory would be missing to this one: it ends here.
            other => {
                drop(other);
                Server::start(tables, part)
            }
        }
    }

    /// Keeps it for the next attempt.
    pub fn keep(self) {
        *lock() = Some(self);
    }

    /// How sysbench is told where it is, and of its tables.
    pub fn words(&self) -> Vec<String> {
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
        let unmade = |e: std::io::Error| {
            Fault::environment(format!("cannot make a folder for MariaDB: {e}"))
                .at(folder.display().to_string())
        };
        fs::create_dir_all(&folder).map_err(unmade)?;
        let socket = folder.join("s");
        if socket.as_os_str().len() > LONGEST_PATH {
            return Err(Fault::environment("its socket's path is too long")
                .at(socket.display().to_string())
                .remedy("set TMPDIR to a folder with a short path"));
        }
        let never = AtomicBool::new(false);
        let until = Until::new(part.deadline, &never);
        let data = folder.join("data");
        finish("mariadb-install-db", &mut install(&data)?, &until)?;
        let program = Program::start(server(&data, &socket, tables)?, fresh())?;
        let server = Server { program, tables: *tables, socket };
        server.await_answer(&until.within(START))?;
        finish("mariadb", &mut client(&server.socket)?, &until)?;
        let words = [server.words(), vec!["--threads=4".into(), "prepare".into()]].concat();
        sysbench(&words, &until)?;
        Ok(server)
    }

    fn await_answer(&self, until: &Until) -> Result<(), Fault> {
        while UnixStream::connect(&self.socket).is_err() {
            until.check("MariaDB to start")?;
            if !self.program.is_running() {
                let said = self.program.last_words();
                return Err(Fault::attempt(format!("mariadbd has ended; the last it wrote:\n{said}")));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// The files of an empty server; nobody but this user can reach its socket, so that its root
/// needs no password.
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

/// Root has to say that it means it.
fn user() -> Option<&'static str> {
    crosstalk_host::namespace::is_root().then_some("--user=root")
}
