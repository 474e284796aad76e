//! `crosstalk exec`: a command in a control group of its own.

use std::process::ExitCode;
use std::thread;

use crosstalk_core::Fault;
use crosstalk_core::units::Bytes;
use crosstalk_host::process::{in_foreground, send};
use crosstalk_host::{Launcher, Ledger};
use crosstalk_tenancy::exec::{Asked, begin};
use crosstalk_tenancy::group::Setting;
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

pub fn main(args: &ExecArgs, out: &Out) -> Result<ExitCode, Fault> {
    let asked = Asked {
        command: args.command.clone(),
        external: args.external,
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
    let mut signals =
        Signals::new(PASSED).map_err(|e| Fault::environment(format!("cannot watch for signals: {e}")))?;
    let ledger = Ledger::open(&Launcher::current())?;
    let running = begin(&asked, &ledger)?;
    let (handle, pid, group) = (signals.handle(), running.pid(), running.made().group().clone());
    let passing = thread::spawn(move || {
        for signal in signals.forever() {
            // The terminal's keys have reached it already.
            if !([SIGINT, SIGQUIT].contains(&signal) && in_foreground()) {
                send(pid, signal);
            }
            // Who stands still hears nothing: a guard may have frozen it, and whoever is to end does not have to
            // wait for that. Not offered, not frozen.
            if ENDING.contains(&signal) {
                let _ = group.set(&Setting::Frozen(false));
            }
        }
    });
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
    out.tell(&json!({ "result": "exec", "exit": ended.code, "cpu": cpu }));
    Ok(ExitCode::from(ended.code))
}
