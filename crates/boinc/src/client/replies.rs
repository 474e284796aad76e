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
mod tests {
    use super::*;
    use crate::client::LONGEST;
    use proptest::prelude::*;

    const RESULTS: &str = "<result>
    <name>c_7_0</name>
    <wu_name>c_7</wu_name>
    <project_url>http://127.0.0.1:8470/project/</project_url>
    <final_cpu_time>0.000000</final_cpu_time>
    <exit_status>0</exit_status>
    <state>2</state>
    <report_deadline>1784000000.250000</report_deadline>
<active_task>
    <active_task_state>1</active_task_state>
    <slot>3</slot>
    <pid>4711</pid>
    <scheduler_state>2</scheduler_state>
    <checkpoint_cpu_time>1.500000</checkpoint_cpu_time>
    <fraction_done>0.250000</fraction_done>
    <current_cpu_time>2.500000</current_cpu_time>
    <elapsed_time>5.000000</elapsed_time>
    <working_set_size>4096.000000</working_set_size>
</active_task>
</result>
<result>
    <name>c_6_0</name>
    <final_cpu_time>9.750000</final_cpu_time>
    <state>5</state>
    <ready_to_report/>
    <got_server_ack/>
</result>";

    #[test]
    fn tasks_are_read_as_a_client_writes_them() {
        let tasks = tasks(RESULTS);
        assert_eq!(tasks.len(), 2);
        let active = tasks[0].active.expect("runs");
        assert_eq!((active.running, active.cpu), (true, 2.5));
        assert_eq!((tasks[0].name.as_str(), tasks[0].cpu()), ("c_7_0", 2.5));
        assert!(tasks[0].runs() && !tasks[1].runs());
        assert_eq!((tasks[1].cpu(), tasks[1].state), (9.75, TaskState::Uploaded));
    }

    #[test]
    fn a_paused_task_does_not_run() {
        for (from, to) in [
            ("<active_task_state>1", "<active_task_state>9"),
            ("<scheduler_state>2", "<scheduler_state>1"),
            ("<state>2", "<state>4"),
        ] {
            assert!(!tasks(&RESULTS.replace(from, to))[0].runs(), "{to}");
        }
    }

    #[test]
    fn a_timed_mode_is_read_with_its_end() {
        let reply = "<cc_status><task_suspend_reason>4</task_suspend_reason><task_mode>3</task_mode>
            <task_mode_perm>2</task_mode_perm><task_mode_delay>8.500000</task_mode_delay></cc_status>";
        let status = Status { mode: 3, lasting_mode: 2, mode_ends_in: 8.5, suspended: 4 };
        assert_eq!(Status::of(reply), Some(status));
    }

    #[test]
    fn the_longest_replies_are_read_however_deep_they_are() {
        for part in
            ["<result>", "<result><active_task>", "<cc_status><cc_status></cc_status>", "<![CDATA[", "<", "&"]
        {
            let reply = part.repeat(LONGEST / 4 / part.len());
            assert!(tasks(&reply).len() <= reply.len() / part.len());
            let _ = Status::of(&reply);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_reply_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let reply = String::from_utf8_lossy(&bytes);
            prop_assert!(tasks(&reply).len() <= bytes.len());
            let _ = Status::of(&reply);
        }

        #[test]
        fn a_reply_with_parts_left_out_or_repeated_has_only_finite_times(
            parts in proptest::collection::vec((0_usize..1200, 0_usize..1200, 1_usize..4), 1..6)
        ) {
            let part = |(from, to, times): (usize, usize, usize)| {
                let (from, to) = (from.min(to).min(RESULTS.len()), from.max(to).min(RESULTS.len()));
                RESULTS[from..to].repeat(times)
            };
            let reply: String = parts.into_iter().map(part).collect();
            for task in tasks(&reply) {
                prop_assert!(task.cpu().is_finite() && task.cpu() >= 0.0);
            }
            prop_assert!(Status::of(&reply).is_none_or(|status| status.mode_ends_in >= 0.0));
        }

        #[test]
        fn a_reply_cut_or_bent_anywhere_is_read_without_panic(at in 0_usize..1200, with in "[<>/0-9a-z. ]{0,9}") {
            let at = at.min(RESULTS.len());
            prop_assert!(tasks(&RESULTS[..at]).len() <= 2);
            let bent = format!("{}{with}{}", &RESULTS[..at], &RESULTS[at..]);
            for task in tasks(&bent) {
                prop_assert!(task.cpu().is_finite());
            }
        }
    }
}
