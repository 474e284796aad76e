//! Measures the time until every node of a virtual cluster has an agent that answers, and
//! until all are removed. Prints one JSON object.
//!
//! `cargo run --release -p crosstalk-testbed --example create -- [NODES] [TIMES] [--rootless]`

#[path = "../tests/support/mod.rs"]
mod support;

use crosstalk_core::Fault;
use crosstalk_core::testbed::Testbed;
use crosstalk_testbed::{Launcher, VirtualTestbed};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Instant;
use support::AgentSession;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

fn main() -> ExitCode {
    if let Some(code) = support::hidden_verb() {
        return code;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--rootless") {
        let rest = args.iter().filter(|arg| *arg != "--rootless");
        let error = Command::new("/proc/self/exe")
            .args(rest)
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .env_remove("XDG_RUNTIME_DIR")
            .exec();
        eprintln!("cannot become another user: {error}");
        return ExitCode::from(4);
    }
    let number = |at: usize, default| args.get(at).and_then(|arg| arg.parse().ok()).unwrap_or(default);
    match measure(number(0, 64), number(1, 5)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::from(fault.kind.exit_code())
        }
    }
}

fn measure(nodes: usize, times: usize) -> Result<(), Fault> {
    let testbed = VirtualTestbed::new(Launcher::current());
    let (mut created, mut answered, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..times {
        let began = Instant::now();
        let mut cluster = testbed.create(nodes)?;
        created.push(began.elapsed().as_secs_f64());
        let mut agents = (0..nodes)
            .map(|node| cluster.start_agent(node, 0).map(AgentSession::from))
            .collect::<Result<Vec<_>, _>>()?;
        agents.iter_mut().for_each(|agent| agent.say("hello"));
        if let Some(silent) = agents.iter_mut().position(|agent| agent.answer() != "hello") {
            return Err(Fault::environment(format!("node {silent} does not answer")));
        }
        answered.push(began.elapsed().as_secs_f64());
        let began = Instant::now();
        drop(cluster);
        removed.push(began.elapsed().as_secs_f64());
    }
    let root = crosstalk_host::user::is_root();
    println!(
        "{{\"nodes\":{nodes},\"root\":{root},\"raised_seconds\":{created:?},\
         \"answered_seconds\":{answered:?},\"gone_seconds\":{removed:?}}}"
    );
    Ok(())
}
