//! Processes: children, programs, shells, signals, and leaving nested calls.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crosstalk_core::Fault;
use crosstalk_host::process::{catch_own_signals, end_with_starter, fork_child, fork_in_turn};

use super::check::{cannot, expect};
use crate::user::User;

/// Pages of memory that a child writes to, and so copies. AIM7's child does so at its end, in the C library, with some
/// more: `bench/aim7.py` compares both jobs' page faults.
const WRITTEN: usize = 14;

/// Bytes of a page.
const PAGE: usize = 4096;

pub fn fork_test(user: &mut User) -> Result<(), Fault> {
    let times = user.scaled(100);
    let pages = Mutex::new(vec![1_u8; WRITTEN * PAGE]);
    let ends = fork_in_turn(times, || {
        let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.iter_mut().step_by(PAGE).for_each(|byte| *byte += 1);
        // Each child has the parent's pages, whatever another has written.
        u8::from(pages[0] != 2)
    })?;
    expect("children that ended well", ends.iter().filter(|end| end.success()).count(), times)
}

pub fn exec_test(user: &mut User) -> Result<(), Fault> {
    for _ in 0..user.scaled(5) {
        run(&mut Command::new(user.common.program()), user.common.folder())?;
    }
    Ok(())
}

/// A child has a shell run a script, as system(3) does.
pub fn shell_rtns_1(user: &mut User) -> Result<(), Fault> {
    let script = user.common.script();
    let folder = user.common.folder();
    let shell = || {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(r#"exec "$0" 9"#).arg(&script);
        // By posix_spawn(3), as system(3).
        u8::from(status(&mut command, folder).is_err())
    };
    let ended = fork_child(shell)?.wait(None)?;
    expect("the exit code of a shell", ended.and_then(|ended| ended.status.code()), Some(0))
}

/// Runs a command in a folder, which must end well, in a copy of this process (fork(2)).
fn run(command: &mut Command, folder: &Path) -> Result<(), Fault> {
    end_with_starter(command);
    status(command, folder)
}

/// Runs a command in a folder, which must end well.
fn status(command: &mut Command, folder: &Path) -> Result<(), Fault> {
    let status =
        command.current_dir(folder).stdin(Stdio::null()).status().map_err(cannot("run a program"))?;
    if status.success() {
        return Ok(());
    }
    Err(Fault::attempt(format!("a program that lists {} ended with {status}", folder.display())))
}

pub fn signal_test(user: &mut User) -> Result<(), Fault> {
    let times = user.scaled(1_000) as u64;
    let caught = catch_own_signals(times).map_err(cannot("send itself a signal"))?;
    expect("signals that were caught", caught, times)
}

/// Nested calls that are left at once, as many as AIM7 has.
const DEPTH: u32 = 10;

/// In place of longjmp(3), which Rust does not have: every call of the chain returns at once what the innermost one
/// returns.
pub fn jmp_test(user: &mut User) -> Result<(), Fault> {
    let times = user.scaled(1_000);
    let left = (0..times).filter(|_| descend(black_box(DEPTH)) == Err(Left)).count();
    expect("calls that were left", left, times)
}

/// All calls were left.
#[derive(PartialEq)]
struct Left;

#[inline(never)]
fn descend(depth: u32) -> Result<(), Left> {
    if depth == 0 {
        return black_box(Err(Left));
    }
    descend(depth - 1)?;
    // What a call would do next keeps it from being a loop.
    black_box(());
    Ok(())
}
