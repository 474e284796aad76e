//! The application: what the client runs in its slot directory, as `crosstalk boinc-app`.
//!
//! It uses no BOINC library, and keeps to what the client 7.20 expects (`client/app_start.cpp`,
//! `client/app_control.cpp`, `api/boinc_api.cpp`, `lib/app_ipc.h`):
//!
//! - input and output are files in the slot directory that hold
//!   `<soft_link>../../projects/…</soft_link>`: the path of the real one;
//! - an end with code 0 counts only when the file `boinc_finish_called` holds that code;
//!   without it the task is started again, as after `boinc_temporary_exit`;
//! - commands to pause, resume and end, and the progress go through `boinc_mmap_file`
//!   ([`channel`]): a client pauses nothing by signals;
//! - a client that was killed leaves its tasks running, and starts them a second time
//!   when it is started again. So a task ends when its parent has, and locks `boinc_lockfile`.
//!
//! Work that is done is kept in a checkpoint in the slot directory, and is not done again.

mod channel;
mod control;
mod slot;

use crosstalk_core::Fault;
use std::path::Path;
use std::time::{Duration, Instant};

use super::collatz::{BLOCKS_PER_RANGE, Block, answer_file};
use control::{ClientControl, StopReason};
use slot::Slot;

pub(super) use slot::{INPUT, OUTPUT};

/// Numbers between two checks for the client's commands: some milliseconds of work.
const CONTROL_INTERVAL: u64 = 1 << 13;

/// The interval between two checkpoints.
const CHECKPOINT: Duration = Duration::from_secs(5);

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEnd {
    /// The output is written.
    Finished,
    /// The client is to start it again later.
    Later,
    /// The client cancelled it.
    Aborted,
}

impl TaskEnd {
    /// The exit code that says so to the client.
    pub fn exit_code(self) -> u8 {
        match self {
            TaskEnd::Finished | TaskEnd::Later => 0,
            // EXIT_ABORTED_BY_CLIENT.
            TaskEnd::Aborted => 194,
        }
    }
}

/// Runs a task in its slot directory.
///
/// # Errors
/// Where the input is not one, or the output cannot be written.
pub fn run(folder: &Path) -> Result<TaskEnd, Fault> {
    let slot = Slot::new(folder);
    let Some(_lock) = slot.lock()? else {
        slot.request_later_start("another process of this task still runs")?;
        return Ok(TaskEnd::Later);
    };
    let span = slot.read_input()?;
    let mut blocks = slot.read_checkpoint(span)?;
    let mut control = ClientControl::open(folder);
    let mut last = Instant::now();
    while blocks.len() < BLOCKS_PER_RANGE as usize {
        let numbers = span.block(blocks.len() as u32);
        let mut block = Block::default();
        for from in numbers.clone().step_by(CONTROL_INTERVAL as usize) {
            let to = numbers.end.min(from + CONTROL_INTERVAL);
            let within = (from - numbers.start) as f64 / (numbers.end - numbers.start) as f64;
            let fraction = (blocks.len() as f64 + within) / f64::from(BLOCKS_PER_RANGE);
            match control.wait_while_paused(fraction) {
                Ok(()) => block.add(from..to),
                Err(StopReason::Quit) => return slot.write_checkpoint(&blocks).map(|()| TaskEnd::Later),
                Err(StopReason::Abort) => return Ok(TaskEnd::Aborted),
            }
        }
        blocks.push(block);
        if last.elapsed() >= CHECKPOINT {
            slot.write_checkpoint(&blocks)?;
            control.record_checkpoint();
            last = Instant::now();
        }
    }
    slot.write_output(&answer_file(span, &blocks))?;
    control.report_done();
    Ok(TaskEnd::Finished)
}

#[cfg(test)]
mod tests;
