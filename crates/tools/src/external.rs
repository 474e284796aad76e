//! Programs of others that run to their end, and the packages that have them.

use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;

use crosstalk_work::peer::Deadline;
use crosstalk_work::program::{Program, check_exit, find, fresh_mark};

/// The command that installs Debian's packages with a program.
pub fn installation(program: &str) -> String {
    let package = match program {
        "sysbench" | "iperf3" => program,
        _ => "mariadb-server-core mariadb-client-core",
    };
    format!("apt-get install --no-install-recommends {package}")
}

/// Whether this machine has these programs.
pub fn program_needs(programs: &[&str]) -> Vec<Need> {
    let need = |program: &&str| match find(program) {
        Ok(path) => Need::found(*program, path.display().to_string()),
        Err(_) => {
            Need::missing(*program, "the workload that runs it cannot be measured", installation(program))
        }
    };
    programs.iter().map(need).collect()
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
