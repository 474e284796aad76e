//! What only a program can put back: something that another program was asked for, which has to be
//! asked again.

use crosstalk_core::Fault;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::DEADLINE;
use crate::process::MARK;

/// Tells the program how many seconds it may take.
const WITHIN: &str = "CROSSTALK_UNDO_WITHIN";

/// How long what the ledger runs may take, as it is told; asked by the program itself.
pub fn allowed() -> Duration {
    let told = std::env::var(WITHIN).ok().and_then(|told| told.parse().ok());
    let told = told.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // Somebody has started it by hand.
    told.unwrap_or(DEADLINE)
}

/// Runs the command to its end, which must be a good one, within the deadline.
pub(super) fn run(words: &[String], deadline: Duration) -> Result<(), Fault> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let fault = |why: &str| {
        Fault::environment(format!("what is to be put back is not: {}", why.trim()))
            .remedy("mend that, and have it put back: crosstalk clean")
    };
    let mut command = Command::new(program);
    command.args(arguments).env_remove(MARK).env(WITHIN, deadline.as_secs_f64().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| fault(&e.to_string()))?;
    let until = Instant::now() + deadline;
    let ended = loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            ended => break ended,
        }
    };
    match ended {
        Ok(Some(status)) if status.success() => Ok(()),
        Ok(Some(status)) => {
            let mut said = String::new();
            // What it says is for people only.
            let _ = child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
            let why = if said.trim().is_empty() { status.to_string() } else { said };
            Err(fault(&why))
        }
        _ => {
            // It may have ended by now.
            let _ = child.kill().and_then(|()| child.wait());
            Err(fault(&format!("it takes longer than {} s", deadline.as_secs_f64())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<(), Fault> {
        run(&["sh", "-c", script].map(String::from), Duration::from_millis(500))
    }

    #[test]
    fn it_is_done_when_the_program_says_so() {
        assert_eq!(shell("exit 0"), Ok(()));
        assert_eq!(shell("test $CROSSTALK_UNDO_WITHIN = 0.5"), Ok(()), "it knows its time");
        let fault = shell("echo nobody answers >&2; exit 4").expect_err("is not done");
        assert!(fault.message.ends_with("nobody answers"), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains("crosstalk clean")));
    }

    #[test]
    fn one_that_does_not_end_is_ended() {
        let fault = shell("exec sleep 60").expect_err("takes too long");
        assert!(fault.message.contains("longer than 0.5 s"), "{fault}");
        assert!(run(&["/no/such/program".into()], Duration::ZERO).is_err());
    }
}
