//! The rules, one by one, and properties that hold for all messages.

use super::*;
use proptest::prelude::*;

/// Parameters in picoseconds.
fn charge(latency: u64, overhead: u64, handling: u64, gap: u64, stream: u64) -> Charge {
    Charge {
        latency: VirtualTime(latency),
        overhead: VirtualTime(overhead),
        handling: VirtualTime(handling),
        gap: VirtualTime(gap),
        stream: VirtualTime(stream),
    }
}

fn arrival(head: u64, busy: u64) -> Arrival {
    Arrival { head: VirtualTime(head), charge: charge(0, 0, 0, busy, 0) }
}

#[test]
fn a_sender_does_not_wait_for_its_nic() {
    let mut port = RankClock::default();
    let message = charge(5, 10, 1, 100, 50);
    assert_eq!(port.send(&message), VirtualTime(15));
    assert_eq!(port.clock(), VirtualTime(11));
    // The second leaves when the NIC is free again, at 10 + 150.
    assert_eq!(port.send(&message), VirtualTime(165));
    assert_eq!(port.clock(), VirtualTime(22));
}

#[test]
fn a_message_received_late_is_not_charged_for_waiting() {
    let mut port = RankClock::default();
    port.receive(&arrival(1000, 100));
    assert_eq!(port.clock(), VirtualTime(1000));
    // It arrived at 500, when the NIC was free.
    port.receive(&arrival(500, 100));
    assert_eq!((port.clock(), port.late_messages()), (VirtualTime(1000), 0));
}

#[test]
fn a_collision_in_the_wrong_order_is_counted() {
    let mut port = RankClock::default();
    port.receive(&arrival(1000, 100));
    // In order of arrival, this one would have occupied the NIC until 1050, and delayed the other.
    port.receive(&arrival(950, 100));
    assert_eq!((port.late_messages(), port.late_time()), (1, VirtualTime(50)));
    // The NIC is busy with the other one: this one is placed after it.
    assert_eq!(port.clock(), VirtualTime(1100));
}

#[test]
fn messages_received_together_are_placed_in_order_of_arrival() {
    let mut port = RankClock::default();
    port.receive_all(&[(2, arrival(1000, 100)), (1, arrival(950, 100)), (0, arrival(1000, 100))]);
    assert_eq!((port.clock(), port.late_messages()), (VirtualTime(1150), 0));
    let order = RankClock::arrival_order(&[(2, arrival(9, 1)), (1, arrival(9, 1)), (0, arrival(3, 1))]);
    assert_eq!(order, [2, 1, 0]);
}

fn charges() -> impl Strategy<Value = Charge> {
    (0u64..10_000, 0u64..1000, 0u64..100_000, 0u64..1000, 0u64..100_000)
        .prop_map(|(l, o, h, g, s)| charge(l, o, h, g, s))
}

proptest! {
    #[test]
        fn a_single_message_takes_the_time_that_loggops_predicts(message in charges(), begin in 0u64..1_000_000) {
        let (mut from, mut to) = (RankClock::default(), RankClock::default());
        from.compute(VirtualTime(begin));
        let head = from.send(&message);
        to.receive(&Arrival { head, charge: message });
                let time = 2 * message.overhead.0 + message.latency.0 + message.handling.0.max(message.stream.0);
                prop_assert_eq!(to.clock(), VirtualTime(begin + time));
    }

    #[test]
        fn in_order_of_arrival_the_nic_is_a_fifo_queue(
        mut messages in proptest::collection::vec((0u64..10_000, 1u64..500), 1..60),
    ) {
        messages.sort_unstable();
        let (mut port, mut free) = (RankClock::default(), 0);
        for (head, busy) in messages {
            let begin = free.max(head);
            port.receive(&arrival(head, busy));
            prop_assert_eq!(port.clock(), VirtualTime(begin));
            free = begin + busy;
        }
        prop_assert_eq!(port.late_messages(), 0);
    }

    #[test]
        fn the_end_of_a_burst_does_not_depend_on_the_order_of_receiving(
            heads in proptest::collection::vec(0u64..100, 1..40), rotation in 0usize..40,
        ) {
            let mut sorted = heads.clone();
            sorted.sort_unstable();
            let mut rotated = heads.clone();
            rotated.rotate_left(rotation % heads.len());
        let end = |heads: &[u64]| {
            let mut port = RankClock::default();
            heads.iter().for_each(|head| port.receive(&arrival(*head, 100)));
            port.clock().0
        };
                // All arrive within the time of one message, so that the first one received begins then.
                prop_assert!(end(&rotated).abs_diff(end(&sorted)) < 100);
    }

    #[test]
        fn the_parts_add_up_and_the_clock_never_decreases(
        steps in proptest::collection::vec((0u8..5, charges(), 0u64..1_000_000), 1..60),
    ) {
        let mut port = RankClock::default();
        for (what, message, number) in steps {
            let before = port.clock();
            match what {
                0 => port.compute(VirtualTime(number)),
                1 => port.serialise(VirtualTime(number)),
                2 => assert!(port.send(&message) >= before),
                3 => port.spill(VirtualTime(number)),
                _ => port.receive(&Arrival { head: VirtualTime(number), charge: message }),
            }
            prop_assert!(port.clock() >= before);
            prop_assert_eq!(port.spent().total(), port.clock());
        }
    }
}
