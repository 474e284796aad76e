//! `crosstalk exec`: a command in a control group of its own.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_cgroup::exec::{ExecRequest, Running, begin};
use crosstalk_cgroup::group::{Group, Setting};
use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::{in_foreground, send, spawn_thread};
use crosstalk_host::{Launcher, Ledger};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::args::ExecArgs;
use crate::out::{Out, complain};

/// How a command ends that the kernel kills: 128 and the signal's number.
const KILLED: u8 = 137;

/// Signals that are the command's.
const PASSED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Those of them by which it is to end.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How long it may take the command to hear of that: foreground work may leave next to nothing of the processors.
const HEARS: Duration = Duration::from_secs(10);
/// Between two looks whether it has.
const GLANCE: Duration = Duration::from_millis(5);

pub fn main(args: &ExecArgs, out: &Out) -> Result<ExitCode, Fault> {
    let request = ExecRequest {
        command: args.command.clone(),
        background: args.background,
        name: args.name.clone(),
        memory: args
            .memory
            .as_deref()
            .map(|text| text.parse::<Bytes>().map_err(|f| f.at("--memory")))
            .transpose()?,
        cores: args.cores,
        quota: args.quota,
    };
    // From here on signals wait for the command to be there.
    let signals =
        Signals::new(PASSED).map_err(|e| Fault::environment(format!("cannot watch for signals: {e}")))?;
    let ledger = Ledger::open(&Launcher::current())?;
    let running = begin(&request, &ledger)?;
    let (handle, passing) = (signals.handle(), Passing::of(&running));
    let passing = spawn_thread("signals", move || passing.pass_all(signals))?;
    // Nothing is passed while the group is taken away.
    let ended = running.wait(|| {
        handle.close();
        // It does nothing that could fail.
        let _ = passing.join();
    })?;
    if let (Some(memory), KILLED) = (&args.memory, ended.code) {
        complain(&format!("it was killed (SIGKILL): it may have needed more than `--memory {memory}`"));
    }
    let cpu = ended.cpu.map(|time| time.as_secs_f64());
    out.record(&json!({ "result": "exec", "exit": ended.code, "cpu": cpu }));
    Ok(ExitCode::from(ended.code))
}

/// Whom signals are passed to.
struct Passing {
    pid: u32,
    group: Group,
    /// Until when it runs whoever has it stand still, since it was told to end.
    until: Option<Instant>,
}

impl Passing {
    fn of(running: &Running) -> Self {
        let group = running.made().group().clone();
        Passing { pid: running.pid(), group, until: None }
    }

    /// Passes what comes until nobody watches for signals any more.
    fn pass_all(mut self, mut signals: Signals) {
        while !signals.is_closed() {
            let come: Vec<i32> = if self.until.is_none() {
                signals.wait().collect()
            } else {
                thread::sleep(GLANCE);
                signals.pending().collect()
            };
            come.into_iter().for_each(|signal| self.pass(signal));
            self.let_run();
        }
    }

    fn pass(&mut self, signal: i32) {
        // The terminal's keys have reached it already.
        if !([SIGINT, SIGQUIT].contains(&signal) && in_foreground()) {
            send(self.pid, signal);
        }
        if ENDING.contains(&signal) {
            self.until = Some(Instant::now() + HEARS);
        }
    }

    /// Who stands still hears nothing: a guard may have frozen it, and may do so again before it has had a
    /// processor, or between what the kernel takes for hearing and what the program does then. Whoever is to end
    /// does not wait for foreground work.
    fn let_run(&mut self) {
        self.until = self.until.filter(|until| Instant::now() < *until);
        if self.until.is_some() {
            // Where that is not offered nothing is frozen.
            let _ = self.group.set(&Setting::Frozen(false));
        }
    }
}
