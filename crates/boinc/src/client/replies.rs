//! A client's replies, parsed. Times are in seconds.
//!
//! Sources of the codes: `lib/common_defs.h`, `client/app.cpp` (`ACTIVE_TASK::write_gui`),
//! `client/result.cpp` (`RESULT::write_gui`), `client/gui_rpc_server_ops.cpp`.

use crate::markup::{Element, elements};

/// A task has all its files, and is not over (`RESULT_FILES_DOWNLOADED`).
const DOWNLOADED: i64 = 2;
/// Its process runs (`PROCESS_EXECUTING`); a paused one has another code.
const EXECUTING: i64 = 1;
/// The client has it run (`CPU_SCHED_SCHEDULED`).
const SCHEDULED: i64 = 2;
/// The mode in which a client does not compute (`RUN_MODE_NEVER`).
const NEVER: i32 = 3;

/// A task: BOINC's result.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Task {
    /// Whether it runs now: started, scheduled and not paused.
    pub runs: bool,
    /// CPU time so far, as its application last reported it (about once a second).
    pub cpu: f64,
}

impl Task {
    fn of(element: &Element<'_>) -> Self {
        let (mut downloaded, mut task) = (false, Task::default());
        for inner in element.elements() {
            match inner.name {
                "state" => downloaded = inner.value() == Some(DOWNLOADED),
                "final_cpu_time" => task.cpu = task.cpu.max(inner.number()),
                "active_task" => {
                    let (runs, cpu) = active(&inner);
                    task = Task { runs, cpu: task.cpu.max(cpu) };
                }
                _ => {}
            }
        }
        Task { runs: task.runs && downloaded, ..task }
    }
}

/// Whether a task's process runs, and the CPU time that it has used.
fn active(element: &Element<'_>) -> (bool, f64) {
    let (mut executing, mut scheduled, mut cpu) = (false, false, 0.0);
    for inner in element.elements() {
        match inner.name {
            "active_task_state" => executing = inner.value() == Some(EXECUTING),
            "scheduler_state" => scheduled = inner.value() == Some(SCHEDULED),
            "current_cpu_time" => cpu = inner.number(),
            _ => {}
        }
    }
    (executing && scheduled, cpu)
}

/// The tasks in a reply to `get_results`.
pub(super) fn tasks(reply: &str) -> Vec<Task> {
    elements(reply).filter(|element| element.name == "result").map(|element| Task::of(&element)).collect()
}

/// Whether a client may compute, and for how long that holds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Status {
    /// The present mode: 1 always, 2 by its preferences, 3 never.
    mode: i32,
    /// Seconds until a timed mode ends; 0 without one.
    pub mode_ends_in: f64,
}

impl Status {
    pub(super) fn of(reply: &str) -> Option<Self> {
        let status = elements(reply).find(|element| element.name == "cc_status")?;
        let mut read = Status::default();
        for inner in status.elements() {
            match inner.name {
                "task_mode" => read.mode = inner.value().unwrap_or(0),
                "task_mode_delay" => read.mode_ends_in = inner.number().max(0.0),
                _ => {}
            }
        }
        Some(read)
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.mode == NEVER
    }
}

#[cfg(test)]
mod tests;
