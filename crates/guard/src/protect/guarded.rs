//! Background work under a guard of its own: the program that an owner would start, as a process.

use std::io::{BufRead, BufReader, Read, copy, sink};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::scene::AppliedCondition;
use crosstalk_host::ledger::Entry;
use crosstalk_host::process::{send, spawn_thread};
use crosstalk_host::{Launcher, Ledger};
use serde_json::Value;

use super::held::Held;

/// How long a guard may take to its first snapshot.
const START: Duration = Duration::from_secs(20);
/// How long it may take to put everything back.
const END: Duration = Duration::from_secs(5);
/// Time between two checks whether it has ended.
const GLANCE: Duration = Duration::from_millis(5);
/// So much of what it says is kept, in bytes; the rest is read and dropped.
const LONGEST: u64 = 16 << 10;
/// SIGTERM of signal(7).
const TERMINATE: i32 = 15;

/// Background work in its group, which is under a guard from [`AppliedCondition::begin`] to [`AppliedCondition::end`].
pub(super) struct Guarded {
    slowdown: f64,
    // Ended before the group goes, which it may have frozen.
    guard: Option<Guard>,
    held: Held,
}

impl Guarded {
    /// Background work whose guard is to keep foreground work's slowdown to this share.
    pub(super) fn new(held: Held, slowdown: f64) -> Guarded {
        Guarded { slowdown, guard: None, held }
    }
}

impl AppliedCondition for Guarded {
    fn begin(&mut self) -> Result<(), Fault> {
        self.held.begin()?;
        let ledger = Ledger::open(&Launcher::current())?;
        self.guard = Some(Guard::begin(&self.held, self.slowdown, &ledger)?);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(mut guard) = self.guard.take() else { return Ok(()) };
        if guard.has_ended() { Err(guard.failed("ended before the attempt did")) } else { Ok(()) }
    }
}

/// The guard. Dropping it ends it, and it puts back what it has set.
struct Guard {
    process: Child,
    said: Option<Receiver<String>>,
    // Kills a guard that does not end.
    _entry: Entry,
}

impl Guard {
    /// Starts a guard that keeps foreground work's slowdown to this share, and waits until it samples.
    ///
    /// # Errors
    /// When it does not begin.
    fn begin(held: &Held, slowdown: f64, ledger: &Ledger) -> Result<Guard, Fault> {
        // The tree that shares the processors out: the group stands nowhere else without them.
        let group = held.group().dir("cpu").or_else(|| held.group().dir("")).ok_or_else(|| {
            Fault::environment("the group of background work is in no tree that shares processors out")
        })?;
        let entry = ledger.processes("the guard of background work")?;
        let mut command = Launcher::current().command("guard");
        command.arg("--slowdown").arg(format!("{}%", slowdown * 100.0)).arg("--background").arg(group);
        command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C is the runner's business.
        let process = entry.mark(&mut command).process_group(0).spawn();
        let mut process = process.map_err(|e| Fault::environment(format!("cannot start the guard: {e}")))?;
        let (stdout, stderr) = (process.stdout.take(), process.stderr.take());
        let mut guard = Guard { process, said: None, _entry: entry };
        let begun = stdout.map(lines_of).transpose()?;
        guard.said = stderr.map(words).transpose()?;
        if begun.is_some_and(|begun| begun.recv_timeout(START).is_ok()) {
            Ok(guard)
        } else {
            Err(guard.failed("did not begin"))
        }
    }

    /// Whether it has ended.
    fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Whether it ends within the time.
    fn ends_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while !self.has_ended() && Instant::now() < until {
            thread::sleep(GLANCE);
        }
        self.has_ended()
    }

    fn failed(&mut self, how: &str) -> Fault {
        // One that stays may say more, for which nobody waits.
        let ended = self.ends_within(END);
        let said = self.said.as_ref().filter(|_| ended).and_then(|said| said.recv_timeout(END).ok());
        let said = said.unwrap_or_default();
        let said = if said.trim().is_empty() { "it said nothing" } else { said.trim() };
        Fault::environment(format!("the guard of background work {how}: {said}"))
            .remedy("see what it says by itself: crosstalk guard --once")
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.has_ended() {
            send(self.process.id(), TERMINATE);
        }
        if !self.ends_within(END) {
            // Its reaper puts back what it has set.
            let _ = self.process.kill().and_then(|()| self.process.wait());
        }
    }
}

/// Reads all that a guard reports; sends for each of its lines.
fn lines_of(stdout: ChildStdout) -> Result<Receiver<()>, Fault> {
    let (sender, lines) = channel();
    spawn_thread("guard-out", move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let is_line = |line: Value| line["event"] == "guard";
            if serde_json::from_str(&line).is_ok_and(is_line) {
                // Only the first is waited for.
                let _ = sender.send(());
            }
        }
    })?;
    Ok(lines)
}

/// Reads all that a guard says, so that it never waits for a reader; sends how it began when it has ended.
fn words(mut stderr: ChildStderr) -> Result<Receiver<String>, Fault> {
    let (sender, said) = channel();
    spawn_thread("words", move || {
        let mut kept = Vec::new();
        // What can be read of it.
        let _ = stderr.by_ref().take(LONGEST).read_to_end(&mut kept);
        let _ = copy(&mut stderr, &mut sink());
        // Whoever has dropped the guard does not ask.
        let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
    })?;
    Ok(said)
}
