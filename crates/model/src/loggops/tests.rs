//! The rules, one by one, and what must hold whatever the messages.

use super::*;
use crosstalk_core::units::Seconds;
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
fn the_first_byte_is_free_and_so_is_nothing() {
    let costs = Costs {
        latency: Seconds(5e-6),
        overhead: Seconds(1e-6),
        gap: Seconds(2e-6),
        gap_per_byte: Seconds(1.081e-9),
        overhead_per_byte: Seconds(0.0),
    };
    assert_eq!(Charge::of(&costs, 0), Charge::of(&costs, 1));
    assert_eq!(Charge::of(&costs, 1001).stream, VirtualTime(1_081_000));
}

#[test]
fn a_sender_goes_on_while_its_nic_is_busy() {
    let mut port = Port::default();
    let message = charge(5, 10, 1, 100, 50);
    assert_eq!(port.send(&message), VirtualTime(15));
    assert_eq!(port.clock(), VirtualTime(11));
    // The second leaves when the NIC is free again, at 10 + 150.
    assert_eq!(port.send(&message), VirtualTime(165));
    assert_eq!(port.clock(), VirtualTime(22));
}

#[test]
fn a_message_asked_for_late_is_not_charged_for_waiting() {
    let mut port = Port::default();
    port.receive(&arrival(1000, 100));
    assert_eq!(port.clock(), VirtualTime(1000));
    // Came at 500, when the NIC was free: it has long been taken in.
    port.receive(&arrival(500, 100));
    assert_eq!((port.clock(), port.late_hand_overs()), (VirtualTime(1000), 0));
}

#[test]
fn a_collision_in_the_wrong_order_is_counted() {
    let mut port = Port::default();
    port.receive(&arrival(1000, 100));
    // In order, this one would have kept the NIC until 1050, and the other waiting.
    port.receive(&arrival(950, 100));
    assert_eq!((port.late_hand_overs(), port.late_time()), (1, VirtualTime(50)));
    // The other one was in the way: it goes behind.
    assert_eq!(port.clock(), VirtualTime(1100));
}

#[test]
fn what_is_asked_for_together_is_received_in_order_of_arrival() {
    let mut port = Port::default();
    port.receive_all(&[(2, arrival(1000, 100)), (1, arrival(950, 100)), (0, arrival(1000, 100))]);
    assert_eq!((port.clock(), port.late_hand_overs()), (VirtualTime(1150), 0));
    let order = Port::arrival_order(&[(2, arrival(9, 1)), (1, arrival(9, 1)), (0, arrival(3, 1))]);
    assert_eq!(order, [2, 1, 0]);
}

fn charges() -> impl Strategy<Value = Charge> {
    (0u64..10_000, 0u64..1000, 0u64..100_000, 0u64..1000, 0u64..100_000)
        .prop_map(|(l, o, h, g, s)| charge(l, o, h, g, s))
}

proptest! {
    #[test]
    fn a_message_alone_takes_what_loggops_says(message in charges(), begin in 0u64..1_000_000) {
        let (mut from, mut to) = (Port::default(), Port::default());
        from.compute(VirtualTime(begin));
        let head = from.send(&message);
        to.receive(&Arrival { head, charge: message });
        let way = 2 * message.overhead.0 + message.latency.0 + message.handling.0.max(message.stream.0);
        prop_assert_eq!(to.clock(), VirtualTime(begin + way));
    }

    #[test]
    fn in_order_of_arrival_the_nic_is_a_plain_queue(
        mut messages in proptest::collection::vec((0u64..10_000, 1u64..500), 1..60),
    ) {
        messages.sort_unstable();
        let (mut port, mut free) = (Port::default(), 0);
        for (head, busy) in messages {
            let begin = free.max(head);
            port.receive(&arrival(head, busy));
            prop_assert_eq!(port.clock(), VirtualTime(begin));
            free = begin + busy;
        }
        prop_assert_eq!(port.late_hand_overs(), 0);
    }

    #[test]
    fn a_burst_ends_at_the_same_time_in_whatever_order_it_is_asked_for(
        heads in proptest::collection::vec(0u64..100, 1..40), turn in 0usize..40,
    ) {
        let mut sorted = heads.clone();
        sorted.sort_unstable();
        let mut turned = heads.clone();
        turned.rotate_left(turn % heads.len());
        let end = |heads: &[u64]| {
            let mut port = Port::default();
            heads.iter().for_each(|head| port.receive(&arrival(*head, 100)));
            port.clock().0
        };
        // It begins with the first one asked for, which came within one message's time.
        prop_assert!(end(&turned).abs_diff(end(&sorted)) < 100);
    }

    #[test]
    fn the_parts_add_up_and_time_never_goes_back(
        steps in proptest::collection::vec((0u8..5, charges(), 0u64..1_000_000), 1..60),
    ) {
        let mut port = Port::default();
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
