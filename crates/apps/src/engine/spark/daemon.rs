//! Spark's master and workers as processes.

use crosstalk_core::Fault;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use super::driver::{ended_fault, set_spark_environment};
use super::installation::Installation;
use crosstalk_work::peer::Deadline;
use crosstalk_work::program::{Program, fresh_mark};

/// How long a master may take to listen.
const START: Duration = Duration::from_secs(60);

/// Java's options for a master or a worker: they compute little, and a fast start matters most.
const JAVA: [&str; 3] = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// A running master of a Spark cluster.
pub struct Master {
    program: Program,
    /// The address for workers and drivers.
    pub url: String,
}

impl Master {
    /// Starts one on `address`, on any free port.
    pub fn start(
        found: &Installation,
        address: IpAddr,
        folder: &Path,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        let at = free(address)?;
        let port = at.port().to_string();
        let host = address.to_string();
        let words = ["--host", &host, "--port", &port, "--webui-port", "0"];
        let program = daemon(found, address, folder, "org.apache.spark.deploy.master.Master", &words)?;
        let until = until.at_most(START);
        while TcpStream::connect_timeout(&at, Duration::from_millis(200)).is_err() {
            until.check("Spark's master to start")?;
            if !program.is_running() {
                return Err(ended_fault("Spark's master", &program));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(Master { program, url: format!("spark://{at}") })
    }

    /// Checks that it still runs.
    pub fn check_running(&self) -> Result<(), Fault> {
        if self.program.is_running() { Ok(()) } else { Err(ended_fault("Spark's master", &self.program)) }
    }
}

/// Starts a worker that offers so many cores, and so many mebibytes of heap.
pub fn start_worker(
    found: &Installation,
    address: IpAddr,
    folder: &Path,
    master: &str,
    (cores, mebibytes): (usize, u64),
) -> Result<Program, Fault> {
    let (host, cores, memory) = (address.to_string(), cores.to_string(), format!("{mebibytes}M"));
    let work = folder.display().to_string();
    let words = [
        "--host",
        &host,
        "--webui-port",
        "0",
        "--cores",
        &cores,
        "--memory",
        &memory,
        "--work-dir",
        &work,
        master,
    ];
    daemon(found, address, folder, "org.apache.spark.deploy.worker.Worker", &words)
}

fn daemon(
    found: &Installation,
    address: IpAddr,
    folder: &Path,
    class: &str,
    words: &[&str],
) -> Result<Program, Fault> {
    fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
    let mut command = Command::new(&found.java);
    command.args(JAVA).arg("-cp").arg(found.home.join("jars/*")).arg(class).args(words).current_dir(folder);
    set_spark_environment(&mut command, found, address);
    // Shuffle files and logs stay in the folder, which is removed.
    command.env("SPARK_LOCAL_DIRS", folder).env("SPARK_WORKER_DIR", folder);
    command.env("SPARK_CONF_DIR", executor_settings(folder)?);
    Program::start(command, fresh_mark())
}

/// A folder of settings, with the options of the executors that a worker starts: what their libraries unpack stays in
/// the worker's folder, however they end.
fn executor_settings(folder: &Path) -> Result<PathBuf, Fault> {
    let settings = folder.join("conf");
    let options = format!("-Djava.io.tmpdir=\"{}\"\n", folder.display());
    let written = fs::create_dir_all(&settings).and_then(|()| fs::write(settings.join("java-opts"), options));
    written.map(|()| settings).map_err(|e| unwritable(folder, &e))
}

fn unwritable(folder: &Path, error: &io::Error) -> Fault {
    Fault::environment(format!("cannot make a folder for Spark: {error}")).at(folder.display().to_string())
}

/// A port that was free a moment ago.
fn free(address: IpAddr) -> Result<SocketAddr, Fault> {
    let bound = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
    bound.map_err(|e| Fault::environment(format!("cannot listen: {e}")).at(address.to_string()))
}
