//! Tests of `split`.

use super::*;
use proptest::prelude::*;
use std::os::unix::process::ExitStatusExt;

fn split(wall: f64, cpu: f64, queued: f64, at_once: f64) -> RunTimeSplit {
    let status = ExitStatus::from_raw(0);
    ProgramAccount { status, wall, cpu, queued: Some(queued), at_once, start: 0.0 }.split()
}

#[test]
fn one_thread_s_times_are_the_kernel_s() {
    assert_eq!(
        split(1.0, 0.5, 0.125, 1.0),
        RunTimeSplit { compute: 0.5, queue: 0.125, wait: 0.375, parallel: 0.0 }
    );
}

#[test]
fn threads_that_compute_and_wait_together_share_the_run_time() {
    // Two threads, each 0.3 s on a processor, 0.1 s queueing, 0.6 s asleep.
    assert_eq!(
        split(1.0, 0.6, 0.2, 2.0),
        RunTimeSplit { compute: 0.3, queue: 0.1, wait: 0.6, parallel: 0.3 }
    );
}

#[test]
fn what_cannot_have_been_one_after_the_other_ran_at_once() {
    // A run so short that no sample was taken: two threads, 0.26 s, with 0.19 s and 0.2 s of computing and queueing.
    let split = split(0.26, 0.095, 0.299, 1.0);
    assert!((split.compute + split.queue - 0.26).abs() < 1e-12 && split.wait < 1e-12, "{split:?}");
    assert!((split.compute / split.queue - 0.095 / 0.299).abs() < 1e-9, "{split:?}");
}

#[test]
fn samples_are_spread_and_cost_little() {
    let mut interval = SampleInterval::default();
    let mut total = Duration::ZERO;
    for _ in 0..1000 {
        interval.note_cost(Duration::from_micros(10));
        assert!((10..=30).contains(&interval.next().as_millis()));
        total += interval.next();
    }
    assert!((19_500..20_500).contains(&total.as_millis()), "20 ms on average: {total:?}");
    interval.note_cost(Duration::from_micros(300));
    assert!(interval.next() >= Duration::from_millis(30));
    interval.note_cost(Duration::from_secs(1));
    assert!(interval.next() <= 2 * TICK);
}

proptest! {
    #[test]
    fn parts_add_up_and_none_is_negative(
        wall in 1e-6f64..1e5, cpu in 0.0f64..1e6, queued in 0.0f64..1e6, at_once in 1.0f64..100.0,
    ) {
        let split = split(wall, cpu, queued, at_once);
        let sum = split.compute + split.queue + split.wait;
        prop_assert!((sum / wall - 1.0).abs() < 1e-9, "{split:?} of {wall}");
        prop_assert!([split.compute, split.queue, split.wait, split.parallel].iter().all(|part| *part >= 0.0));
        prop_assert!((split.compute + split.parallel - cpu).abs() <= 1e-9 * cpu);
    }
}
