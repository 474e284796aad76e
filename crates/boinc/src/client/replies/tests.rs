//! Tests of `replies`.

use super::*;
use crate::client::connection::LONGEST;
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
    assert_eq!(tasks(RESULTS), [Task { runs: true, cpu: 2.5 }, Task { runs: false, cpu: 9.75 }]);
}

#[test]
fn a_paused_task_does_not_run() {
    for (from, to) in [
        ("<active_task_state>1", "<active_task_state>9"),
        ("<scheduler_state>2", "<scheduler_state>1"),
        ("<state>2", "<state>4"),
    ] {
        assert!(!tasks(&RESULTS.replace(from, to))[0].runs, "{to}");
    }
}

#[test]
fn a_timed_mode_is_read_with_its_end() {
    let reply = "<cc_status><task_mode>3</task_mode><task_mode_delay>8.500000</task_mode_delay></cc_status>";
    let status = Status::of(reply).expect("is one");
    assert!(status.is_paused() && status.mode_ends_in == 8.5, "{status:?}");
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
            prop_assert!(task.cpu.is_finite() && task.cpu >= 0.0);
        }
        prop_assert!(Status::of(&reply).is_none_or(|status| status.mode_ends_in >= 0.0));
    }
}
