//! sysbench as a process.

use std::process::Command;

use crosstalk_core::Fault;
use crosstalk_core::need::Need;

use crosstalk_work::peer::Until;
use crosstalk_work::program::find;
use crosstalk_work::program::{Program, fresh, judge};

/// Which of Debian's packages have a program.
fn package(program: &str) -> &'static str {
    if program == "sysbench" { "sysbench" } else { "mariadb-server-core mariadb-client-core" }
}

/// What these programs need of a machine.
pub fn needs(programs: &[&str]) -> Vec<Need> {
    let need = |program: &&str| match find(program) {
        Ok(path) => Need::found(*program, path.display().to_string()),
        Err(_) => Need::missing(
            *program,
            "what it does cannot be measured",
            format!("apt-get install --no-install-recommends {}", package(program)),
        ),
    };
    programs.iter().map(need).collect()
}

/// Runs sysbench to its end; what it said.
///
/// # Errors
/// That it is missing, failed, or did not end in time.
pub fn sysbench(words: &[String], until: &Until) -> Result<String, Fault> {
    finish("sysbench", Command::new(find("sysbench")?).args(words), until)
}

/// Runs a program to its end; what it said.
pub fn finish(name: &str, command: &mut Command, until: &Until) -> Result<String, Fault> {
    let command = std::mem::replace(command, Command::new(name));
    let mut program = Program::start(command, fresh())?;
    program.watch(&[], until)?;
    let account = program.end()?;
    judge(name, account.status, || program.last_words())?;
    let [(_, said), _] = program.output();
    Ok(String::from_utf8_lossy(&said).into_owned())
}
