//! The workload's node.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::{Prepared, Sink};
use crosstalk_host::Launcher;
use crosstalk_host::process::{Account, end_with_starter, fresh_mark};

use crate::client_process::{ClientProcess, ClientSetup, INSTALL, find_client_program};
use crate::project::{Attachment, read_counts};
use crate::spec::Spec;
use crosstalk_work::peer::Deadline;
use crosstalk_work::prepare_alone;
use crosstalk_work::program::Program;

/// How long a project may take to start.
const START: Duration = Duration::from_secs(30);

/// The interval between two samples of the client.
const POLL: Duration = Duration::from_millis(500);

/// How often a wait checks whether it is stopped.
const STOP_POLL: Duration = Duration::from_millis(5);

/// Prepares the node that runs the project and its client.
pub fn prepare(spec: Spec, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
    if spec.ncpus > 0 {
        find_client_program()
            .ok_or_else(|| Fault::environment("there is no BOINC client here").remedy(INSTALL))?;
        // Root may lack the right to start it as another user.
        Account::unprivileged()?;
    }
    let (scratch, deadline) = (part.scratch.clone(), part.deadline);
    Ok(prepare_alone(move |out, cancelled| {
        let until = Deadline::new(deadline, cancelled);
        let measured = if spec.ncpus == 0 {
            out.steady()?;
            while !is_stopped(&until) {}
            Measurements::default()
        } else {
            run(&spec, &scratch, out, &until)?
        };
        measured.report(out)
    }))
}

fn run(spec: &Spec, scratch: &Path, out: &mut dyn Sink, until: &Deadline) -> Result<Measurements, Fault> {
    let folder = Folder::new(scratch.join(format!("boinc-{}", fresh_mark()?)))?;
    let project = Project::start(&folder.0.join("project"), spec, until)?;
    let begun = Instant::now();
    let (client, attach) = (folder.0.join("client"), Some(&project.attach));
    let setup = ClientSetup { folder: &client, cores: spec.ncpus, share: &spec.share, project: attach };
    let mut host = ClientProcess::start(&setup, until)?;
    host.wait_until_steady(
        spec.share.tasks(spec.ncpus) as usize,
        &until.at_most(Duration::from_secs_f64(spec.steady.0)),
    )
    .map_err(|fault| fault.of_parameter("steady"))?;
    let start = begun.elapsed().as_secs_f64();
    Ok(Measurements { start: Some(start), ..measure(&mut host, &project, out, until)? })
}

/// What was measured while the tasks ran.
#[derive(Default)]
struct Measurements {
    donated: f64,
    running: f64,
    finished: u64,
    failed: u64,
    samples: u64,
    /// Seconds until all tasks computed; `None` where none were started.
    start: Option<f64>,
}

impl Measurements {
    fn report(&self, out: &mut dyn Sink) -> Result<(), Fault> {
        let mut take = |name: &str, value: f64, n: u64| {
            out.take(Reading::value(name, value, Origin::Measured), n.max(1))
        };
        take("donated", self.donated, self.samples)?;
        take("tasks_running", self.running, self.samples)?;
        take("tasks_finished", self.finished as f64, 1)?;
        take("tasks_failed", self.failed as f64, 1)?;
        self.start.map_or(Ok(()), |start| take("start_time", start, 1))
    }
}

/// Waits for the next sample, or until it is stopped; returns whether it was.
fn is_stopped(until: &Deadline) -> bool {
    let next = Instant::now() + POLL;
    while !until.is_cancelled() && Instant::now() < next {
        thread::sleep(STOP_POLL);
    }
    until.is_cancelled()
}

/// Measures from now, when it is steady, until it is stopped.
fn measure(
    host: &mut ClientProcess,
    project: &Project,
    out: &mut dyn Sink,
    until: &Deadline,
) -> Result<Measurements, Fault> {
    let before = read_counts(&project.folder)?;
    let (begun, at_first) = (Instant::now(), host.background_cpu_time()?);
    out.steady()?;
    let (mut running, mut samples, mut over) = (0, 0_u32, false);
    while !over {
        over = is_stopped(until);
        host.check()?;
        project.check()?;
        // A guard may have paused client and project while the answer was due: try once more.
        let tasks = host.client().tasks().or_else(|_| host.client().tasks())?;
        running += tasks.iter().filter(|task| task.runs).count();
        samples += 1;
    }
    let donated = (host.background_cpu_time()? - at_first) / begun.elapsed().as_secs_f64();
    let after = read_counts(&project.folder)?;
    Ok(Measurements {
        donated,
        running: running as f64 / f64::from(samples),
        finished: after.valid - before.valid,
        failed: after.failed - before.failed,
        samples: u64::from(samples),
        start: None,
    })
}

/// A project that runs as a process, which becomes another user's where root starts it.
struct Project {
    program: Program,
    folder: PathBuf,
    attach: Attachment,
}

impl Project {
    fn start(folder: &Path, spec: &Spec, until: &Deadline) -> Result<Self, Fault> {
        let mut command = Launcher::current().command("boinc-project");
        command.arg(folder).args(["--listen", "127.0.0.1:0", "--task", &format!("{} s", spec.task.0)]);
        // Root may lack the right to find it by its mark, once it is another user's.
        end_with_starter(&mut command);
        let program = Program::start(command, fresh_mark()?)?;
        let until = until.at_most(START);
        let attach = loop {
            if let Some(attach) = Attachment::read(folder) {
                break attach;
            }
            until.check("the BOINC project to start")?;
            died(&program)?;
            thread::sleep(Duration::from_millis(20));
        };
        Ok(Project { program, folder: folder.into(), attach })
    }

    fn check(&self) -> Result<(), Fault> {
        died(&self.program)
    }
}

fn died(program: &Program) -> Result<(), Fault> {
    if program.is_running() {
        return Ok(());
    }
    Err(Fault::attempt(format!(
        "the BOINC project ended during the run; the last it wrote: {}",
        program.last_lines()
    )))
}

/// A folder that is removed with the attempt.
struct Folder(PathBuf);

impl Folder {
    fn new(path: PathBuf) -> Result<Self, Fault> {
        fs::create_dir_all(&path).map_err(|e| {
            Fault::environment(format!("cannot make a folder for BOINC: {e}")).at(path.display().to_string())
        })?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is removed with the node's scratch folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
