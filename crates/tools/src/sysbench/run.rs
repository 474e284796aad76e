//! Programs that run to their end.

use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;

use crosstalk_work::peer::Deadline;
use crosstalk_work::program::{Program, check_exit, find, fresh_mark};

/// Debian's packages that have a program.
fn package(program: &str) -> &'static str {
    if program == "sysbench" { "sysbench" } else { "mariadb-server-core mariadb-client-core" }
}

/// Whether this machine has these programs.
pub fn program_needs(programs: &[&str]) -> Vec<Need> {
    let need = |program: &&str| match find(program) {
        Ok(path) => Need::found(*program, path.display().to_string()),
        Err(_) => Need::missing(
            *program,
            "the workload that runs it cannot be measured",
            format!("apt-get install --no-install-recommends {}", package(program)),
        ),
    };
    programs.iter().map(need).collect()
}

/// Runs sysbench to its end, and returns what it printed.
///
/// # Errors
/// Where it is missing, fails, or does not end in time.
pub fn sysbench(arguments: &[String], until: &Deadline) -> Result<String, Fault> {
    run_to_end("sysbench", Command::new(find("sysbench")?).args(arguments), until)
}

/// Runs a program to its end, and returns what it printed.
///
/// # Errors
/// Where it fails, or does not end in time.
pub fn run_to_end(name: &str, command: &mut Command, until: &Deadline) -> Result<String, Fault> {
    let command = std::mem::replace(command, Command::new(name));
    let mut program = Program::start(command, fresh_mark())?;
    program.watch(&[], until)?;
    let account = program.end()?;
    check_exit(name, account.status, || program.last_lines())?;
    let [(_, output), _] = program.last_outputs();
    Ok(String::from_utf8_lossy(&output).into_owned())
}
