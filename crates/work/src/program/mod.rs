//! A program as processes: started in a process group of its own, watched
//! through a file descriptor, and ended with everything it started.

mod fate;
mod tail;
mod tree;

pub use fate::{hung, judge};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, waitid,
};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use wait4::try_wait4_pid;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;

use crate::peer::socket::is_readable;
use crate::peer::{Line, TICK, Until};
use tail::Tail;
use tree::{MARK, Queueing, children_cpu, members, orphans};

/// A mark that nobody else has.
pub fn fresh() -> String {
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// How long a process has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// How long the kernel may take to carry out a SIGKILL.
const DEATH: Duration = Duration::from_secs(2);

/// What the workload needs of a machine.
pub fn need() -> Need {
    match pidfd_open(getpid(), PidfdFlags::empty()) {
        Ok(_) => Need::found("to watch a program's end (pidfd)", "the kernel's"),
        Err(e) => Need::missing(
            "to watch a program's end (pidfd)",
            format!("the kernel says: {e}; no program can be run"),
            "Linux 5.3 or later, and a container that allows pidfd_open",
        ),
    }
}

/// A program that was started. Dropping it ends it and all it started.
pub struct Program {
    pid: Pid,
    fd: OwnedFd,
    mark: String,
    begin: Instant,
    started: Duration,
    ended: Option<Instant>,
    queueing: Queueing,
    others: BTreeSet<i32>,
    stdout: Tail,
    stderr: Tail,
    reaped: bool,
}

/// How a program ended and what it used. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    /// How it ended.
    pub status: ExitStatus,
    /// From before its start to its end.
    pub wall: f64,
    /// Processor time, user and system.
    pub compute: f64,
    /// Ready to run without a processor, at least; `None` where the kernel does not tell.
    pub queue: Option<f64>,
    /// What starting a process took.
    pub start: f64,
}

impl Account {
    /// Neither running nor ready to run; `None` where the times overlap so that it cannot be told.
    pub fn wait(&self) -> Option<f64> {
        let rest = self.wall - self.compute - self.queue.unwrap_or(0.0);
        (rest > 0.0).then_some(rest)
    }
}

/// What a watched program's world came up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The program ended.
    Ended,
    /// The line with this index has something to say.
    Stirred(usize),
}

impl Program {
    /// Starts a command; `mark` tells its processes from all others.
    pub fn start(mut command: Command, mark: String) -> Result<Self, Fault> {
        // What a program leaves behind becomes a child of this process, so that
        // its end and its processor time are seen.
        set_child_subreaper(Some(getpid()))
            .map_err(|e| Fault::environment(format!("cannot look after a program's children: {e}")))?;
        let program = command.get_program().to_string_lossy().into_owned();
        command.env(MARK, &mark).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begin = Instant::now();
        let mut child = command.spawn().map_err(|e| refused(&program, &e))?;
        let started = begin.elapsed();
        let pid = Pid::from_child(&child);
        let fd = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| {
            // Not watched, it must not go on.
            let _ = child.kill().and_then(|()| child.wait());
            Fault::environment(format!("cannot watch `{program}`: {e}")).remedy("Linux 5.3 or later")
        })?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        Ok(Program {
            pid,
            fd,
            mark,
            begin,
            started,
            ended: None,
            queueing: Queueing::default(),
            others: BTreeSet::new(),
            stdout: tail::<ChildStdout>(stdout),
            stderr: tail::<ChildStderr>(stderr),
            reaped: false,
        })
    }

    /// Waits until the program ends or a line has something to say.
    pub fn watch(&mut self, lines: &[Line], until: &Until) -> Result<Event, Fault> {
        loop {
            until.check("the program to end")?;
            if let Some(index) = lines.iter().position(Line::stirs) {
                return Ok(Event::Stirred(index));
            }
            self.look();
            if self.wait_a_tick(lines, until) {
                self.ended = Some(Instant::now());
                return Ok(Event::Ended);
            }
        }
    }

    /// Notes how long the program's threads queued, and who belongs to it: who
    /// ends as an orphan between two looks without having been seen stays a
    /// zombie, uncounted, until this process ends.
    fn look(&mut self) {
        self.others.extend(self.queueing.look(self.pid));
        self.others.extend(orphans(&self.mark).into_iter().map(Pid::as_raw_pid));
    }

    /// Sleeps until something happens, a while at most. Whether the program ended.
    fn wait_a_tick(&self, lines: &[Line], until: &Until) -> bool {
        let wait = until.left().min(TICK);
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut fds: Vec<_> = lines.iter().map(|line| PollFd::new(line, PollFlags::IN)).collect();
        fds.push(PollFd::new(&self.fd, PollFlags::IN));
        // An interruption is a short sleep: the caller looks again.
        let _ = poll(&mut fds, Some(&wait));
        fds.last().is_some_and(|fd| !fd.revents().is_empty())
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.ended.is_none() && !is_readable(&self.fd, Duration::ZERO)
    }

    /// CPU time that its children have used so far, and those of theirs that these have waited for; `None`
    /// where it has ended.
    pub fn children_cpu(&self) -> Option<Duration> {
        children_cpu(self.pid)
    }

    /// Whether it ended, and with exit code 0. Leaves it to be reaped.
    pub fn ended_well(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.pid), look).ok().flatten();
        status.and_then(|status| status.exit_status()) == Some(0)
    }

    /// The last it wrote to its standard error, else to its standard output, in lines.
    pub fn last_words(&self) -> String {
        let said = self.stderr.last_lines();
        if said.is_empty() { self.stdout.last_lines() } else { said }
    }

    /// The last it wrote to its standard output.
    pub fn written(&self) -> Vec<u8> {
        self.stdout.kept()
    }

    /// The last it wrote: to its standard output, to its standard error.
    pub fn output(&self) -> [(&'static str, Vec<u8>); 2] {
        [("out", self.written()), ("err", self.stderr.kept())]
    }

    /// How long it runs, or ran.
    pub fn wall(&self) -> Duration {
        self.ended.map_or_else(|| self.begin.elapsed(), |ended| ended - self.begin)
    }

    /// Ends it where it still runs, and what it left behind, and says what it used.
    pub fn end(&mut self) -> Result<Account, Fault> {
        self.end_by(&[(Signal::TERM, GRACE), (Signal::KILL, DEATH)])
    }

    /// Kills it and what it started: for one whose files nobody will read.
    pub fn kill(&mut self) {
        // What it used is of no interest; what is still there is ended once more where this is dropped.
        let _ = self.end_by(&[(Signal::KILL, DEATH)]);
    }

    fn end_by(&mut self, signals: &[(Signal, Duration)]) -> Result<Account, Fault> {
        let left = self.clear(signals);
        let wall = self.wall().as_secs_f64();
        self.queueing.look(self.pid);
        let used = try_wait4_pid(self.pid.as_raw_pid().cast_unsigned())
            .ok()
            .flatten()
            .ok_or_else(|| Fault::attempt("the program does not end, though it was killed"))?;
        self.reaped = true;
        let cpu = |usage: wait4::ResourceUsage| (usage.utime + usage.stime).as_secs_f64();
        let compute = cpu(used.rusage) + left.iter().copied().map(cpu).sum::<f64>();
        let start = self.started.as_secs_f64();
        Ok(Account { status: used.status, wall, compute, queue: self.queueing.seconds(), start })
    }

    /// These signals to all processes, the next one to those that stay for so long. What the orphans
    /// among them used. The program itself is left to be reaped, so that its
    /// number, which is the group's, stays taken meanwhile.
    fn clear(&mut self, signals: &[(Signal, Duration)]) -> Vec<wait4::ResourceUsage> {
        let mut used = Vec::new();
        for &(signal, patience) in signals {
            let deadline = Instant::now() + patience;
            // Each is told once: many programs take a second SIGTERM for impatience.
            let mut told: Vec<Pid> = Vec::new();
            while Instant::now() < deadline {
                let alive = self.reap_others(&mut used);
                if self.ended.is_none() && is_readable(&self.fd, Duration::ZERO) {
                    self.ended = Some(Instant::now());
                }
                if alive.is_empty() && self.ended.is_some() {
                    return used;
                }
                for pid in alive {
                    if !told.contains(&pid) {
                        // ESRCH: it ended meanwhile.
                        let _ = kill_process(pid, signal);
                        told.push(pid);
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        // Should proc(5) not have shown them all.
        let _ = kill_process_group(self.pid, Signal::KILL);
        used
    }

    /// Takes note of orphans that ended. Which processes are still alive.
    fn reap_others(&mut self, used: &mut Vec<wait4::ResourceUsage>) -> Vec<Pid> {
        let seen = members(self.pid, &self.mark);
        self.others.extend(seen.iter().map(|process| process.pid.as_raw_pid()));
        self.others.remove(&self.pid.as_raw_pid());
        // The kernel refuses those that are not children of this process.
        let reap = |pid: &i32| try_wait4_pid(pid.cast_unsigned()).ok().flatten();
        self.others.retain(|pid| match reap(pid) {
            Some(usage) => {
                used.push(usage.rusage);
                false
            }
            None => true,
        });
        seen.into_iter().filter(|process| !process.zombie).map(|process| process.pid).collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if !self.reaped {
            // Its outcome is of no interest any more.
            let _ = self.end();
        }
    }
}

fn tail<S: std::io::Read + Send + 'static>(stream: Option<S>) -> Tail {
    match stream {
        Some(stream) => Tail::of(stream),
        None => Tail::of(std::io::empty()),
    }
}

fn refused(program: &str, e: &std::io::Error) -> Fault {
    let fault = Fault::environment(format!("`{program}` cannot be started: {e}"));
    match e.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOEXEC) => fault
            .remedy("a script needs a first line such as `#!/bin/sh`; a program must be for this machine"),
        Some(rustix::io::Errno::ACCESS) => fault.remedy("check that it may be executed (`ls -l`, `mount`)"),
        _ => fault.remedy("run the command by hand on this node"),
    }
}
