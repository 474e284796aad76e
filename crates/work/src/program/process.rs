use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, waitid,
};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use wait4::try_wait4_pid;

use crosstalk_core::Fault;

use super::descendants::Descendants;
use super::split::{ProgramAccount, SampleInterval};
use super::tail::Tail;
use super::tree::{RUN_MARK, ThreadActivity, children_cpu};
use crate::peer::socket::is_readable;
use crate::peer::{Deadline, Line};

/// Termination grace: time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to carry out a SIGKILL.
const DEATH: Duration = Duration::from_secs(2);

/// A program that was started. Dropping it ends it and all it started.
pub struct Program {
    pid: Pid,
    fd: OwnedFd,
    begin: Instant,
    started: Duration,
    ended: Option<Instant>,
    activity: ThreadActivity,
    interval: SampleInterval,
    descendants: Descendants,
    stdout: Tail,
    stderr: Tail,
    reaped: bool,
}

/// What ended the watch of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The program ended.
    Ended,
    /// The connection with this index has a message, or has closed.
    Message(usize),
}

impl Program {
    /// Starts a command. Its processes carry `mark` in their environment.
    ///
    /// # Errors
    /// An environment fault where it cannot be started or watched.
    pub fn start(mut command: Command, mark: String) -> Result<Self, Fault> {
        // What a program leaves behind becomes a child of this process, so that
        // its end and its processor time are seen.
        set_child_subreaper(Some(getpid()))
            .map_err(|e| Fault::environment(format!("cannot adopt a program's orphans: {e}")))?;
        let program = command.get_program().to_string_lossy().into_owned();
        command.env(RUN_MARK, &mark).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().map_err(|e| not_started(&program, &e))?;
        let started = begin.elapsed();
        let pid = Pid::from_child(&child);
        let fd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| {
            // A program that cannot be watched must not run.
            let _ = child.kill().and_then(|()| child.wait());
            Fault::environment(format!("cannot watch `{program}`: {e}")).remedy("Linux 5.3 or later")
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Program {
            pid,
            fd,
            begin,
            started,
            ended: None,
            activity: ThreadActivity::default(),
            interval: SampleInterval::default(),
            descendants: Descendants::new(pid, mark),
            stdout: tail::<ChildStdout>(stdout),
            stderr: tail::<ChildStderr>(stderr),
            reaped: false,
        })
    }

    /// Waits until the program ends, or until a connection has a message or has closed.
    ///
    /// # Errors
    /// An attempt fault at the deadline; an interruption when it is cancelled.
    pub fn watch(&mut self, lines: &[Line], until: &Deadline) -> Result<Event, Fault> {
        loop {
            until.check("the program to end")?;
            if let Some(index) = lines.iter().position(Line::is_readable) {
                return Ok(Event::Message(index));
            }
            self.sample();
            if self.wait_for_sample(lines, until) {
                self.ended = Some(Instant::now());
                return Ok(Event::Ended);
            }
        }
    }

    /// Samples what the program's threads do, and which processes belong to it.
    fn sample(&mut self) {
        let began = Instant::now();
        self.descendants.sample(&mut self.activity);
        self.interval.note_cost(began.elapsed());
    }

    /// Sleeps until something happens, or until the next sample is due; returns whether the program ended.
    fn wait_for_sample(&mut self, lines: &[Line], until: &Deadline) -> bool {
        let wait = until.time_left().min(self.interval.next());
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut fds: Vec<_> = lines.iter().map(|line| PollFd::new(line, PollFlags::IN)).collect();
        fds.push(PollFd::new(&self.fd, PollFlags::IN));
        // An interruption is a short sleep: the caller samples again.
        let _ = poll(&mut fds, Some(&wait));
        fds.last().is_some_and(|fd| !fd.revents().is_empty())
    }

    /// Whether the program still runs.
    pub fn is_running(&self) -> bool {
        self.ended.is_none() && !is_readable(&self.fd, Duration::ZERO)
    }

    /// CPU time that its children have used so far, and those of theirs that these have waited for; `None`
    /// where it has ended.
    pub fn children_cpu(&self) -> Option<Duration> {
        children_cpu(self.pid)
    }

    /// Whether it ended with exit code 0. It is not reaped.
    pub fn has_succeeded(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), options).ok().flatten();
        status.and_then(|status| status.exit_status()) == Some(0)
    }

    /// The last it wrote to its standard error, else to its standard output, in lines.
    pub fn last_lines(&self) -> String {
        let said = self.stderr.last_lines();
        if said.is_empty() { self.stdout.last_lines() } else { said }
    }

    /// The last it wrote to its standard output.
    pub fn last_output(&self) -> Vec<u8> {
        self.stdout.bytes()
    }

    /// The last it wrote: to its standard output, to its standard error.
    pub fn last_outputs(&self) -> [(&'static str, Vec<u8>); 2] {
        [("out", self.last_output()), ("err", self.stderr.bytes())]
    }

    /// Run time so far, or until its end.
    pub fn run_time(&self) -> Duration {
        self.ended.map_or_else(|| self.begin.elapsed(), |ended| ended - self.begin)
    }

    /// Ends it and all that it started, and returns what they used.
    ///
    /// # Errors
    /// An attempt fault where it survives SIGKILL.
    pub fn end(&mut self) -> Result<ProgramAccount, Fault> {
        self.end_by(&[(Signal::TERM, GRACE), (Signal::KILL, DEATH)])
    }

    /// Kills it and all that it started, without a termination grace.
    pub fn kill(&mut self) {
        // What survives is ended once more when this is dropped.
        let _ = self.end_by(&[(Signal::KILL, DEATH)]);
    }

    fn end_by(&mut self, signals: &[(Signal, Duration)]) -> Result<ProgramAccount, Fault> {
        let orphans = self.signal(signals);
        let wall = self.run_time().as_secs_f64();
        self.activity.sample([self.pid]);
        let used = try_wait4_pid(self.pid.as_raw_pid().cast_unsigned())
            .ok()
            .flatten()
            .ok_or_else(|| Fault::attempt("the program does not end, though it was killed"))?;
        self.reaped = true;
        let cpu = |usage: wait4::ResourceUsage| (usage.utime + usage.stime).as_secs_f64();
        Ok(ProgramAccount {
            status: used.status,
            wall,
            cpu: cpu(used.rusage) + orphans.iter().copied().map(cpu).sum::<f64>(),
            queued: self.activity.queued_seconds(),
            at_once: self.activity.mean_parallelism(),
            start: self.started.as_secs_f64(),
        })
    }

    /// Sends each signal to all processes that are still alive, and waits as long as it says before the
    /// next. Returns what the orphans among them used. The program itself is not reaped: its process
    /// number, which is the group's, must not be reused meanwhile.
    fn signal(&mut self, signals: &[(Signal, Duration)]) -> Vec<wait4::ResourceUsage> {
        let mut used = Vec::new();
        for &(signal, grace) in signals {
            let deadline = Instant::now() + grace;
            // Once for each: many programs end at once on a second SIGTERM.
            let mut signalled: Vec<Pid> = Vec::new();
            while Instant::now() < deadline {
                let alive = self.descendants.reap(&mut used);
                if self.ended.is_none() && is_readable(&self.fd, Duration::ZERO) {
                    self.ended = Some(Instant::now());
                }
                if alive.is_empty() && self.ended.is_some() {
                    return used;
                }
                for pid in alive {
                    if !signalled.contains(&pid) {
                        // ESRCH: it ended meanwhile.
                        let _ = kill_process(pid, signal);
                        signalled.push(pid);
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        // For processes that proc(5) has not shown.
        let _ = kill_process_group(self.pid, Signal::KILL);
        used
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.reaped {
            // Nobody asks for its outcome any more.
            let _ = self.end();
        }
    }
}

/// Collects what a stream ends with.
fn tail<S: std::io::Read + Send + 'static>(stream: Option<S>) -> Tail {
    match stream {
        Some(stream) => Tail::collect(stream),
        None => Tail::collect(std::io::empty()),
    }
}

fn not_started(program: &str, e: &std::io::Error) -> Fault {
    let fault = Fault::environment(format!("`{program}` cannot be started: {e}"));
    match e.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOEXEC) => fault
            .remedy("a script needs a first line such as `#!/bin/sh`; a program must be for this machine"),
        Some(rustix::io::Errno::NOENT) => fault.remedy(
            "the file is there, but not what runs it: see `file` and `ldd` for its interpreter or dynamic loader",
        ),
        Some(rustix::io::Errno::ACCESS) => fault.remedy("check that it may be executed (`ls -l`, `mount`)"),
        _ => fault.remedy("run the command by hand on this node"),
    }
}
