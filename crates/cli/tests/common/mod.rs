//! The program as a user has it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run that takes no more than this is not hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// `crosstalk ARGS` in `dir`, with a deadline.
pub fn crosstalk(dir: &Path, args: &[&str]) -> Output {
    let child = command(dir, args).spawn().expect("crosstalk starts");
    finish(child)
}

/// The command, to be started by the test.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosstalk"));
    command
        .args(args)
        .current_dir(dir)
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits for it, killing it at the deadline.
pub fn finish(mut child: std::process::Child) -> Output {
    let began = Instant::now();
    // Read while waiting, so that a full pipe holds nobody up.
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let out = std::thread::spawn(move || read(&mut stdout));
    let err = std::thread::spawn(move || read(&mut stderr));
    let status = loop {
        if let Some(status) = child.try_wait().expect("waits") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("killed");
            panic!("crosstalk did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    Output { status, stdout: out.join().expect("read"), stderr: err.join().expect("read") }
}

fn read(from: &mut dyn std::io::Read) -> Vec<u8> {
    let mut text = Vec::new();
    from.read_to_end(&mut text).expect("reads");
    text
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
