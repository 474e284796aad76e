//! The driver program, a Python process with the Spark context, and a connection to it that carries one JSON
//! object a line.

use crosstalk_core::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::installation::Installation;
use super::job::Object;
use crosstalk_work::peer::socket::{accept, is_readable, wait_readable};
use crosstalk_work::peer::{Deadline, Line, listen};
use crosstalk_work::program::{Program, fresh_mark};

/// The driver program's files, as they are written for Python to import.
const FILES: &[(&str, &str)] = &[
    ("als.py", include_str!("driver/als.py")),
    ("articles.py", include_str!("driver/articles.py")),
    ("bayes.py", include_str!("driver/bayes.py")),
    ("cluster.py", include_str!("driver/cluster.py")),
    ("conversation.py", include_str!("driver/conversation.py")),
    ("driver.py", include_str!("driver/driver.py")),
    ("failure.py", include_str!("driver/failure.py")),
    ("jvm.py", include_str!("driver/jvm.py")),
    ("output.py", include_str!("driver/output.py")),
    ("pagerank.py", include_str!("driver/pagerank.py")),
    ("passes.py", include_str!("driver/passes.py")),
    ("request.py", include_str!("driver/request.py")),
    ("tasks.py", include_str!("driver/tasks.py")),
    ("values.py", include_str!("driver/values.py")),
];

/// How long Python may take to start and to connect.
const START: Duration = Duration::from_secs(30);

/// How often a wait for an answer checks for other reasons to end.
const POLL: Duration = Duration::from_millis(20);

/// A running driver program. Dropping it ends it, and its Spark context.
pub struct Driver {
    line: Line,
    program: Program,
}

/// Its first message.
#[derive(Deserialize)]
struct Greeting {
    key: String,
}

/// Its answers.
#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
enum Answer {
    /// The request is in progress.
    Progress {},
    /// The request is done.
    Done(Object),
    /// The request failed.
    Failed { reason: String, remedy: Option<String> },
}

impl Driver {
    /// Starts a driver program that keeps its files in `folder`.
    pub fn start(
        found: &Installation,
        folder: &Path,
        address: IpAddr,
        until: &Deadline,
    ) -> Result<Self, Fault> {
        let script = install(folder).map_err(|e| {
            Fault::environment(format!("cannot write the driver program: {e}"))
                .at(folder.display().to_string())
        })?;
        let listener = listen((Ipv4Addr::LOCALHOST, 0).into())?;
        let port = listener.local_addr().map_err(|e| Fault::environment(e.to_string()))?.port();
        let key = fresh_mark();
        let mut command = Command::new(&found.python);
        command.arg(script).arg(port.to_string()).arg(&key).current_dir(folder);
        set_spark_environment(&mut command, found, address);
        let mut program = Program::start(command, fresh_mark())?;
        let line = called_back(&listener, &key, &mut program, &until.at_most(START))?;
        Ok(Driver { line, program })
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.program.is_running()
    }

    /// Sends a request and waits for the answer; `check` may end the wait.
    ///
    /// # Errors
    /// Where the driver reports a failure or ends; or the fault of `check`.
    pub fn request(
        &mut self,
        request: &impl Serialize,
        until: &Deadline,
        mut check: impl FnMut() -> Result<(), Fault>,
    ) -> Result<Object, Fault> {
        self.line.send(request)?;
        loop {
            until.check("Spark's answer")?;
            check()?;
            if !self.line.is_readable() {
                if !self.program.is_running() {
                    return Err(self.ended());
                }
                is_readable(&self.line, POLL);
                continue;
            }
            match self.line.receive::<Answer>(until)? {
                Some(Answer::Progress {}) => {}
                Some(Answer::Done(object)) => return Ok(object),
                Some(Answer::Failed { reason, remedy }) => {
                    let fault = Fault::attempt(format!("Spark failed: {reason}"));
                    return Err(remedy.map_or(fault.clone(), |remedy| fault.remedy(remedy)));
                }
                None => return Err(self.ended()),
            }
        }
    }

    fn ended(&self) -> Fault {
        ended_fault("Spark's driver", &self.program)
    }
}

/// Writes the program; returns the file to run.
fn install(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.join("driver");
    fs::create_dir_all(&folder)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    Ok(folder.join("driver.py"))
}

/// Waits until the program that was started connects, and no other.
fn called_back(
    listener: &TcpListener,
    key: &str,
    program: &mut Program,
    until: &Deadline,
) -> Result<Line, Fault> {
    loop {
        until.check("Spark's driver to start")?;
        if !is_readable(listener, POLL) {
            if !program.is_running() {
                return Err(ended_fault("Spark's driver", program));
            }
            continue;
        }
        let mut line = Line::new(accept(listener, until)?.0)?;
        wait_readable(&line, until, "Spark's driver to greet")?;
        if line.receive::<Greeting>(until).is_ok_and(|greeting| greeting.is_some_and(|g| g.key == key)) {
            return Ok(line);
        }
    }
}

/// Sets the environment variables that Spark's programs need.
pub fn set_spark_environment(command: &mut Command, found: &Installation, address: IpAddr) {
    command.env("SPARK_HOME", &found.home);
    // Workers need it; Spark's scripts would set it. Spark 4 has one version of Scala.
    command.env("SPARK_SCALA_VERSION", "2.13");
    command.env("PYSPARK_PYTHON", &found.python);
    command.env("PYSPARK_DRIVER_PYTHON", &found.python);
    command.env("SPARK_LOCAL_IP", address.to_string());
    if let Some(home) = found.java.parent().and_then(Path::parent) {
        command.env("JAVA_HOME", home);
    }
    // The user's own Spark settings would change this one.
    for variable in ["SPARK_CONF_DIR", "SPARK_WORKER_OPTS", "SPARK_MASTER_OPTS", "PYSPARK_SUBMIT_ARGS"] {
        command.env_remove(variable);
    }
}

/// The fault for a program of Spark's that ended by itself.
pub fn ended_fault(what: &str, program: &Program) -> Fault {
    let said = program.last_lines();
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it wrote nothing");
    Fault::attempt(format!("{what} ended in mid-run; the last it wrote: {}", last.trim()))
}

/// A number of an answer, which must be finite.
pub fn number_in_answer(answer: &Object, name: &str) -> Result<f64, Fault> {
    let number = answer.get(name).and_then(Value::as_f64).filter(|number| number.is_finite());
    number.ok_or_else(|| Fault::attempt(format!("Spark's driver reported no `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_driver_program_is_installed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/engine/spark/driver");
        let listed = fs::read_dir(folder).expect("is there").flatten();
        let names = listed.map(|file| file.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".py")).collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
