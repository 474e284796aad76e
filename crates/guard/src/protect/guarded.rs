//! Background work under a guard of its own: the program that an owner would start, as a process.

use std::io::{BufRead, BufReader, PipeReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_core::scene::AppliedCondition;
use crosstalk_host::ledger::Entry;
use crosstalk_host::process::{send, spawn_thread};
use crosstalk_host::{Launcher, Ledger};
use serde_json::Value;

use super::agent_group::AgentGroup;

/// How long a guard may take to its first snapshot.
const START: Duration = Duration::from_secs(20);
/// How long it may take to put everything back.
const END: Duration = Duration::from_secs(5);
/// Time between two checks whether it has ended.
const GLANCE: Duration = Duration::from_millis(5);
/// About so much of what it complains of is kept, in bytes; the rest is read and dropped.
const LONGEST: usize = 16 << 10;
/// SIGTERM of signal(7).
const TERMINATE: i32 = 15;

/// Background work in its group, which is under a guard from [`AppliedCondition::begin`] to [`AppliedCondition::end`].
pub(super) struct Guarded {
    slowdown: f64,
    // Ended before the group goes, which it may have frozen.
    guard: Option<Guard>,
    group: AgentGroup,
}

impl Guarded {
    /// Background work whose guard is to keep foreground work's slowdown to this share.
    pub(super) fn new(group: AgentGroup, slowdown: f64) -> Guarded {
        Guarded { slowdown, guard: None, group }
    }
}

impl AppliedCondition for Guarded {
    fn begin(&mut self) -> Result<(), Fault> {
        self.group.begin()?;
        let ledger = Ledger::open(&Launcher::current())?;
        self.guard = Some(Guard::begin(&self.group, self.slowdown, &ledger)?);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(mut guard) = self.guard.take() else { return self.group.end() };
        if !guard.has_ended() {
            // It puts back what it has set before the limit goes.
            drop(guard);
            return self.group.end();
        }
        let said = match guard.output.recv_timeout(END) {
            Ok(Output::Ended(said)) => said,
            _ => String::new(),
        };
        self.group.end()?;
        Err(failed("ended before the attempt did", &said))
    }
}

/// The guard. Dropping it ends it, and it puts back what it has set.
struct Guard {
    process: Child,
    output: Receiver<Output>,
    // Kills a guard that does not end.
    _entry: Entry,
}

/// What is read of a guard.
enum Output {
    /// Its first line: it samples.
    Begun,
    /// It has ended, and has complained so.
    Ended(String),
}

impl Guard {
    /// Starts a guard that keeps foreground work's slowdown to this share, and waits until it samples.
    ///
    /// # Errors
    /// When it does not begin.
    fn begin(group: &AgentGroup, slowdown: f64, ledger: &Ledger) -> Result<Guard, Fault> {
        // The tree that shares the processors out: the group is nowhere else without them.
        let group = group.group().dir("cpu").or_else(|| group.group().dir("")).ok_or_else(|| {
            Fault::environment("the group of background work is in no tree that shares processors out")
        })?;
        let entry = ledger.processes("the guard of background work")?;
        let refused = |e: std::io::Error| Fault::environment(format!("cannot start the guard: {e}"));
        let (reader, writer) = std::io::pipe().map_err(refused)?;
        let mut command = Launcher::current().command("guard");
        command.arg("--slowdown").arg(format!("{}%", slowdown * 100.0)).arg("--background").arg(group);
        command.arg("--json").stdin(Stdio::null());
        command.stdout(writer.try_clone().map_err(refused)?).stderr(writer);
        // A group of its own: Ctrl-C is the runner's business.
        let process = entry.mark(&mut command).process_group(0).spawn().map_err(refused)?;
        // It has the only writers from now on.
        drop(command);
        let guard = Guard { process, output: read(reader)?, _entry: entry };
        match guard.output.recv_timeout(START) {
            Ok(Output::Begun) => Ok(guard),
            Ok(Output::Ended(said)) => Err(failed("did not begin", &said)),
            Err(_) => Err(failed("did not begin in time", "")),
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

/// Reads all that a guard says, so that it never waits for a reader.
fn read(from: PipeReader) -> Result<Receiver<Output>, Fault> {
    let (sender, output) = channel();
    spawn_thread("guard-output", move || {
        let (mut complaints, mut begun) = (String::new(), false);
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // Whoever has dropped the guard does not ask.
            match serde_json::from_str::<Value>(&line) {
                Ok(line) if line["event"] == "guard" && !std::mem::replace(&mut begun, true) => {
                    let _ = sender.send(Output::Begun);
                }
                Err(_) if complaints.len() < LONGEST => complaints += &(line + "\n"),
                _ => {}
            }
        }
        let _ = sender.send(Output::Ended(complaints));
    })?;
    Ok(output)
}

fn failed(how: &str, said: &str) -> Fault {
    let said = if said.trim().is_empty() { "it said nothing" } else { said.trim() };
    Fault::environment(format!("the guard of background work {how}: {said}"))
        .remedy("see what it says by itself: crosstalk guard --once")
}
