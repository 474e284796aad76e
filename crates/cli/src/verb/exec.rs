//! `crosstalk exec`: a command in a control group of its own, or in a named one.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_cgroup::exec::{ExecRequest, begin};
use crosstalk_cgroup::group::{Group, Setting};
use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, quoted};
use crosstalk_groups::{KillCause, launch};
use crosstalk_host::process::{in_foreground, send, spawn_thread};
use crosstalk_host::{Launcher, Ledger};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use super::groups::why;
use crate::args::ExecArgs;
use crate::out::{Out, print_error};

/// How a command ends that the kernel kills: 128 and the signal's number.
const KILLED: u8 = 137;

/// Signals that are passed to the command.
const PASSED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// The passed signals that ask the command to end.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How long the command may take to handle such a signal: foreground work may leave it little CPU time.
const HANDLING_TIME: Duration = Duration::from_secs(10);
/// The time between two checks for signals meanwhile.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Runs `crosstalk exec`.
pub fn main(args: &ExecArgs, out: &Out) -> Result<ExitCode, Fault> {
    // From here on signals wait for the command to be there.
    let signals =
        Signals::new(PASSED).map_err(|e| Fault::environment(format!("cannot watch for signals: {e}")))?;
    match &args.group {
        Some(name) => in_named(name, args, signals, out),
        None => in_own(args, signals, out),
    }
}

/// In a group of its own, which ends with the command.
fn in_own(args: &ExecArgs, signals: Signals, out: &Out) -> Result<ExitCode, Fault> {
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
    let ledger = Ledger::open(&Launcher::current())?;
    let running = begin(&request, &ledger)?;
    let stop = pass_signals(signals, running.pid(), Some(running.made().group().clone()))?;
    // Nothing is passed while the group is taken away.
    let ended = running.wait(stop)?;
    if let (Some(memory), KILLED) = (&args.memory, ended.code) {
        let named = called(&args.command);
        print_error(&format!(
            "{named} was killed (SIGKILL): it may have needed more than `--memory {memory}`"
        ));
    }
    Ok(conclude(ended.code, ended.cpu, out))
}

/// In a named group, in which stays what the command leaves running.
fn in_named(name: &str, args: &ExecArgs, signals: Signals, out: &Out) -> Result<ExitCode, Fault> {
    let name = name.parse().map_err(|fault: Fault| fault.at("--group"))?;
    let launched = launch(&name, &args.command)?;
    let pid = launched.pid();
    // Without its signals it could not be ended.
    let stop = pass_signals(signals, pid, None).inspect_err(|_| send(pid, SIGKILL))?;
    let ended = launched.wait(stop)?;
    if let (Some(cause), KILLED) = (&ended.cause, ended.code) {
        print_error(&kill_in_words(&called(&args.command), ended.was_killed, cause));
    }
    if let Some((group, more)) = &ended.refused {
        print_error(&format!(
            "group `{group}` has as many processes as it may: {more} more were refused meanwhile"
        ));
    }
    Ok(conclude(ended.code, Some(ended.cpu), out))
}

/// The command's program, for people.
fn called(command: &[OsString]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    format!("`{}`", quoted(program.as_encoded_bytes()))
}

/// What is known of an end with [`KILLED`]: without a signal the code is the command's own, mostly that of its child.
fn kill_in_words(named: &str, was_killed: bool, cause: &KillCause) -> String {
    let how = if was_killed { "was killed (SIGKILL)" } else { "ended with exit code 137" };
    let which = if was_killed {
        "a process of its group meanwhile, perhaps this one"
    } else {
        "a process of its group"
    };
    match cause {
        KillCause::Kernel(what) => format!("{named} {how}: {what}"),
        KillCause::Meanwhile(what) => format!("{named} {how}; the kernel killed {which}: {what}"),
        KillCause::Keep(group, end) => {
            format!("{named} {how}: `groups keep` ended group `{group}`: {}", why(end.reason, &end.full))
        }
    }
}

fn conclude(code: u8, cpu: Option<Duration>, out: &Out) -> ExitCode {
    let cpu = cpu.map(|time| time.as_secs_f64());
    out.record(&json!({ "result": "exec", "exit": code, "cpu": cpu }));
    ExitCode::from(code)
}

/// Passes signals to the command, until the returned function is called.
fn pass_signals(signals: Signals, pid: u32, group: Option<Group>) -> Result<impl FnOnce(), Fault> {
    let (handle, forwarder) = (signals.handle(), SignalForwarder { pid, group, until: None });
    let passing = spawn_thread("signals", move || forwarder.pass_all(signals))?;
    Ok(move || {
        handle.close();
        // It does nothing that could fail.
        let _ = passing.join();
    })
}

/// Passes signals to the command.
struct SignalForwarder {
    pid: u32,
    /// Its group, which a guard may pause; none for a named group, which no guard pauses.
    group: Option<Group>,
    /// Until when its group is kept running, after a signal to end.
    until: Option<Instant>,
}

impl SignalForwarder {
    /// Passes every signal until `signals` is closed.
    fn pass_all(mut self, mut signals: Signals) {
        while !signals.is_closed() {
            let come: Vec<i32> = if self.until.is_none() {
                signals.wait().collect()
            } else {
                thread::sleep(CHECK_INTERVAL);
                signals.pending().collect()
            };
            come.into_iter().for_each(|signal| self.pass(signal));
            self.keep_running();
        }
    }

    fn pass(&mut self, signal: i32) {
        // Ctrl-C in the terminal has reached the command already.
        if !([SIGINT, SIGQUIT].contains(&signal) && in_foreground()) {
            send(self.pid, signal);
        }
        if ENDING.contains(&signal) {
            self.until = Some(Instant::now() + HANDLING_TIME);
        }
    }

    /// Keeps the command's group running for a while after a signal to end. A frozen process handles no signal. A
    /// guard may have frozen the group, and may freeze it again before the program has handled the signal. A program
    /// that is to end does not wait for foreground work.
    fn keep_running(&mut self) {
        self.until = self.until.filter(|until| Instant::now() < *until);
        if let (Some(_), Some(group)) = (self.until, &self.group) {
            // A group without this setting cannot be frozen.
            let _ = group.set(&Setting::Frozen(false));
        }
    }
}
