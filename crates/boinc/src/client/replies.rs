//! A client's replies, parsed. Times are in seconds.
//!
//! Sources of the codes: `lib/common_defs.h`, `client/app.cpp` (`ACTIVE_TASK::write_gui`),
//! `client/result.cpp` (`RESULT::write_gui`), `client/gui_rpc_server_ops.cpp`.

use super::markup::{Element, elements};

/// A task's state (`RESULT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskState {
    /// The client knows it, and has no files yet.
    #[default]
    New,
    /// Its files are being downloaded.
    Downloading,
    /// It can run, or runs.
    Downloaded,
    /// It failed.
    Failed,
    /// Its output is being uploaded.
    Uploading,
    /// Its output is uploaded; it is not reported yet.
    Uploaded,
    /// It was cancelled.
    Aborted,
    /// A code that is not known here.
    Other,
}

impl TaskState {
    fn of(code: i64) -> Self {
        match code {
            0 => TaskState::New,
            1 => TaskState::Downloading,
            2 => TaskState::Downloaded,
            3 | 7 => TaskState::Failed,
            4 => TaskState::Uploading,
            5 => TaskState::Uploaded,
            6 => TaskState::Aborted,
            _ => TaskState::Other,
        }
    }
}

/// A task's process.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Active {
    /// Whether it runs now: scheduled, and not paused.
    pub running: bool,
    /// CPU time, as its application last reported it (about once a second).
    pub cpu: f64,
}

/// A task: BOINC's result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Task {
    /// Its name, unique in its project.
    pub name: String,
    /// Its state.
    pub state: TaskState,
    /// Its process, once it was started.
    pub active: Option<Active>,
    /// CPU time, once it has ended.
    pub final_cpu: f64,
}

impl Task {
    /// Whether it runs now.
    pub fn runs(&self) -> bool {
        self.state == TaskState::Downloaded && self.active.is_some_and(|active| active.running)
    }

    /// CPU time so far.
    pub fn cpu(&self) -> f64 {
        self.active.map_or(0.0, |active| active.cpu).max(self.final_cpu)
    }

    fn of(element: &Element<'_>) -> Self {
        let mut task = Task::default();
        for inner in element.elements() {
            match inner.name {
                "name" => task.name = inner.text(),
                "state" => task.state = TaskState::of(inner.value().unwrap_or(-1)),
                "final_cpu_time" => task.final_cpu = inner.number(),
                "active_task" => task.active = Some(Active::of(&inner)),
                _ => {}
            }
        }
        task
    }
}

impl Active {
    fn of(element: &Element<'_>) -> Self {
        let mut active = Active::default();
        let (mut executing, mut scheduled) = (false, false);
        for inner in element.elements() {
            match inner.name {
                // PROCESS_EXECUTING; a paused process has another code.
                "active_task_state" => executing = inner.value::<i64>() == Some(1),
                // CPU_SCHED_SCHEDULED.
                "scheduler_state" => scheduled = inner.value::<i64>() == Some(2),
                "current_cpu_time" => active.cpu = inner.number().max(0.0),
                _ => {}
            }
        }
        active.running = executing && scheduled;
        active
    }
}

/// The tasks in a reply to `get_results`.
pub(super) fn tasks(reply: &str) -> Vec<Task> {
    elements(reply).filter(|element| element.name == "result").map(|element| Task::of(&element)).collect()
}

/// Whether a client may compute, and for how long that holds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Status {
    /// The present mode: 1 always, 2 by its preferences, 3 never.
    pub mode: i32,
    /// The mode after a timed one.
    pub lasting_mode: i32,
    /// Seconds until a timed mode ends; 0 without one.
    pub mode_ends_in: f64,
    /// Why its tasks are suspended, by the codes `SUSPEND_REASON_*`; 0: they are not.
    pub suspended: i32,
}

impl Status {
    pub(super) fn of(reply: &str) -> Option<Self> {
        let status = elements(reply).find(|element| element.name == "cc_status")?;
        let mut read = Status::default();
        for inner in status.elements() {
            match inner.name {
                "task_mode" => read.mode = inner.value().unwrap_or(0),
                "task_mode_perm" => read.lasting_mode = inner.value().unwrap_or(0),
                "task_mode_delay" => read.mode_ends_in = inner.number().max(0.0),
                "task_suspend_reason" => read.suspended = inner.value().unwrap_or(0),
                _ => {}
            }
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests;
