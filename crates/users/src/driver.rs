//! A driver: starts the users of one group, lets them begin at once, and reports how each ended.
//!
//! It is a process of its own, with one thread while it starts users: they are copies of it (fork(2)), as
//! in AIM7. The workload gives its orders on standard input and reads reports from standard output.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::mem;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::namespace;
use crosstalk_host::process::{
    Ended, Forked, cannot, die_with_parent, fork_child, spawn_thread, wait_readable,
};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{WaitId, WaitIdOptions, setpgid, waitid};
use serde::{Deserialize, Serialize};

use crate::orders::{Orders, Overlay, Report, Signal, UserOrders, UserResult};
use crate::work::{Pipes, work};

/// How long a driver waits for a result before it checks whether a user was killed.
const CHECK: Duration = Duration::from_millis(50);

/// Runs a driver until all its users have ended.
///
/// # Errors
/// If its orders cannot be read, or its reports cannot be written.
pub fn run(mut input: impl BufRead + Send + 'static, mut output: impl Write) -> Result<(), Fault> {
    // Jobs ask for their process group, which is outside of a node's PID namespace unless it is the driver's own.
    let _ = setpgid(None, None);
    let mut line = String::new();
    let lost = |e: io::Error| Fault::gone(format!("the connection to the workload is lost: {e}"));
    input.read_line(&mut line).map_err(lost)?;
    let orders: Orders = serde_json::from_str(&line)
        .map_err(|e| Fault::attempt(format!("the driver's orders cannot be read: {e}")))?;
    let mut report = |report: Report| {
        let line = serde_json::to_string(&report).map_err(|e| Fault::attempt(e.to_string()))?;
        writeln!(output, "{line}").and_then(|()| output.flush()).map_err(lost)
    };
    let overlaid = orders.overlay.as_ref().map_or(Ok(()), mount);
    match overlaid.and_then(|()| Users::start(orders)) {
        Ok((users, signals)) => users.drive(signals, input, &mut report),
        Err(fault) => report(Report::Broken(fault)),
    }
}

/// Mounts an overlay that only this process and its users see.
fn mount(overlay: &Overlay) -> Result<(), Fault> {
    namespace::enter(namespace::Kinds::MOUNT)?;
    namespace::keep_mounts_private()?;
    namespace::mount_overlay(&overlay.over, &overlay.own)
}

/// Its users, while they run.
struct Users {
    /// Those that have not ended, with their numbers.
    running: Vec<(usize, Forked)>,
    ready: File,
    results: Results,
}

/// The driver's ends of the pipes that let users begin, and stop.
type SignalEnds = [File; 2];

/// A user's result, as it is written into the drivers' pipe.
#[derive(Serialize, Deserialize)]
struct ResultLine {
    number: usize,
    outcome: UserResult,
}

impl Users {
    /// Starts them. They wait for the beginning.
    fn start(orders: Orders) -> Result<(Self, SignalEnds), Fault> {
        let (ready, ready_end) = pipe()?;
        let (begin_end, begin) = pipe()?;
        let (stop_end, stop) = pipe()?;
        let (results, results_end) = pipe()?;
        let pipes = Pipes { ready: ready_end, begin: begin_end, stop: stop_end };
        let mut ends = Some((pipes, results_end, [begin, stop]));
        let mut running = Vec::new();
        for user in &orders.users {
            // Taken in the copies only.
            let child = fork_child(|| ends.take().map_or(1, |ends| be_user(user, ends)));
            running.push((user.number, child?));
        }
        set_nonblocking(&results).map_err(|e| cannot("read the users' results", &e))?;
        let signals = ends.take().map(|(_, _, signals)| signals);
        let signals = signals.ok_or_else(|| Fault::attempt("a driver became a user"))?;
        Ok((Users { running, ready, results: Results { pipe: results, bytes: Vec::new() } }, signals))
    }

    /// Lets them begin and stop as the workload signals, and reports how each ends.
    fn drive(
        mut self,
        [begin, stop]: SignalEnds,
        input: impl BufRead + Send + 'static,
        report: &mut impl FnMut(Report) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        // A user that is not ready has failed, which its result says.
        let _ = self.ready.read(&mut [0]);
        report(Report::Ready)?;
        spawn_thread("signals", move || pass_signals(input, begin, stop))?;
        let mut results = BTreeMap::new();
        while !self.running.is_empty() {
            // A wait that is interrupted is a short one.
            let _ = wait_readable(&[&self.results.pipe], Some(CHECK));
            // Who has ended before the results are read has written its own.
            let ended = self.take_ended()?;
            results.extend(self.results.read().into_iter().map(|line| (line.number, line.outcome)));
            for (number, end) in ended {
                report(conclude(number, results.remove(&number), &end))?;
            }
        }
        Ok(())
    }

    /// The users that have ended since the last call, with their numbers.
    fn take_ended(&mut self) -> Result<Vec<(usize, Ended)>, Fault> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // One call says whether any has ended.
        if !waitid(WaitId::All, options).is_ok_and(|found| found.is_some()) {
            return Ok(Vec::new());
        }
        let mut ended = Vec::new();
        for (number, mut user) in mem::take(&mut self.running) {
            match user.wait(Some(Duration::ZERO))? {
                Some(end) => ended.push((number, end)),
                None => self.running.push((number, user)),
            }
        }
        Ok(ended)
    }
}

/// How a user ended.
fn conclude(number: usize, outcome: Option<UserResult>, end: &Ended) -> Report {
    match (outcome, end.status.signal()) {
        (Some(Ok(done)), _) => Report::User { number, done, device_reads: end.usage.read },
        (Some(Err(fault)), _) => Report::Failed { number, fault },
        (None, Some(signal)) => Report::Killed { number, signal },
        (None, None) => {
            let fault = Fault::attempt(format!("it ended without a result ({})", end.status));
            Report::Failed { number, fault }
        }
    }
}

/// What a copy of the driver does: a user's jobs. Returns its exit code.
fn be_user(user: &UserOrders, (pipes, mut results, signals): (Pipes, File, SignalEnds)) -> u8 {
    die_with_parent();
    // Else it would wait for itself.
    drop(signals);
    let line = ResultLine { number: user.number, outcome: work(user, pipes) };
    let line = serde_json::to_string(&line).map_err(io::Error::other);
    let written = line.and_then(|line| results.write_all(format!("{line}\n").as_bytes()));
    u8::from(written.is_err())
}

/// Closes what users wait for as the workload signals. Ends the driver, and so its users, when the
/// workload has gone.
fn pass_signals(input: impl BufRead, begin: File, stop: File) {
    let (mut begin, mut stop) = (Some(begin), Some(stop));
    for line in input.lines() {
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Signal::Begin) => drop(begin.take()),
            Some(Signal::Stop) => drop(stop.take()),
            None => break,
        }
    }
    process::exit(1);
}

/// The pipe into which users write their results.
struct Results {
    pipe: File,
    /// What was read behind the last whole line.
    bytes: Vec<u8>,
}

impl Results {
    /// The results that were written since the last call.
    fn read(&mut self) -> Vec<ResultLine> {
        let mut buffer = [0; 1 << 16];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => self.bytes.extend_from_slice(&buffer[..length]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let Some(end) = self.bytes.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let whole: Vec<u8> = self.bytes.drain(..=end).collect();
        whole.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

/// The ends of a pipe: the reading one, the writing one.
fn pipe() -> Result<(File, File), Fault> {
    let (reader, writer) = io::pipe().map_err(|e| cannot("make a pipe", &e))?;
    Ok((File::from(OwnedFd::from(reader)), File::from(OwnedFd::from(writer))))
}

fn set_nonblocking(file: &File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags | OFlags::NONBLOCK)?)
}
