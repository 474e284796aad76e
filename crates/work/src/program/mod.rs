//! A program as processes: started in a process group of its own, watched
//! through a file descriptor, and ended with everything it started.

mod fate;
mod find;
mod split;
mod tail;
mod tree;

pub use fate::{hung, judge};
pub use find::{find, find_first};
pub use split::Account;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, waitid,
};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use wait4::try_wait4_pid;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;

use crate::peer::socket::is_readable;
use crate::peer::{Line, Until};
use split::Looks;
use tail::Tail;
use tree::{Activity, MARK, children_cpu, members, orphans};

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
    activity: Activity,
    looks: Looks,
    others: BTreeSet<i32>,
    stdout: Tail,
    stderr: Tail,
    reaped: bool,
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
            activity: Activity::default(),
            looks: Looks::default(),
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
            if self.wait_for_look(lines, until) {
                self.ended = Some(Instant::now());
                return Ok(Event::Ended);
            }
        }
    }

    /// Notes what the program's threads do, and who belongs to it: who ends as an orphan between two looks
    /// without having been seen stays a zombie, uncounted, until this process ends.
    fn look(&mut self) {
        let began = Instant::now();
        let orphans = orphans(&self.mark);
        self.others.extend(orphans.iter().copied().map(Pid::as_raw_pid));
        self.others.extend(self.activity.look([self.pid].into_iter().chain(orphans)));
        self.looks.took(began.elapsed());
    }

    /// Sleeps until something happens, or until the next look is due. Whether the program ended.
    fn wait_for_look(&mut self, lines: &[Line], until: &Until) -> bool {
        let wait = until.left().min(self.looks.next());
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
        self.activity.look([self.pid]);
        let used = try_wait4_pid(self.pid.as_raw_pid().cast_unsigned())
            .ok()
            .flatten()
            .ok_or_else(|| Fault::attempt("the program does not end, though it was killed"))?;
        self.reaped = true;
        let cpu = |usage: wait4::ResourceUsage| (usage.utime + usage.stime).as_secs_f64();
        Ok(Account {
            status: used.status,
            wall,
            cpu: cpu(used.rusage) + left.iter().copied().map(cpu).sum::<f64>(),
            queued: self.activity.queued(),
            at_once: self.activity.at_once(),
            start: self.started.as_secs_f64(),
        })
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
        Some(rustix::io::Errno::NOENT) => fault.remedy(
            "the file is there, but not what runs it: see `file` and `ldd` for its interpreter or dynamic loader",
        ),
        Some(rustix::io::Errno::ACCESS) => fault.remedy("check that it may be executed (`ls -l`, `mount`)"),
        _ => fault.remedy("run the command by hand on this node"),
    }
}
