//! Messages as a broken or hostile host sends them, for tests.

use proptest::prelude::*;
use std::ops::Range;

/// One kind of damage.
#[derive(Debug, Clone)]
enum Damage {
    Removed(Range<usize>),
    Repeated(Range<usize>, usize),
    Inserted(usize, Vec<u8>),
}

/// The message with bytes left out, repeated and inserted, at one to four places.
pub fn damaged(message: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let most = message.len();
    let range = move || (0..=most, 0..40_usize).prop_map(move |(from, length)| from..most.min(from + length));
    let damage = prop_oneof![
        range().prop_map(Damage::Removed),
        (range(), 1..9_usize).prop_map(|(range, times)| Damage::Repeated(range, times)),
        (0..=most, proptest::collection::vec(any::<u8>(), 1..12))
            .prop_map(|(at, with)| Damage::Inserted(at, with)),
    ];
    proptest::collection::vec(damage, 1..5)
        .prop_map(move |damages| damages.into_iter().fold(message.clone(), apply))
}

fn apply(mut message: Vec<u8>, damage: Damage) -> Vec<u8> {
    // Earlier damage may have left less.
    let whole = message.len();
    let within = |range: Range<usize>| range.start.min(whole)..range.end.min(whole);
    match damage {
        Damage::Removed(range) => drop(message.drain(within(range))),
        Damage::Repeated(range, times) => {
            let range = within(range);
            let again = message[range.clone()].repeat(times);
            message.splice(range.end..range.end, again);
        }
        Damage::Inserted(at, with) => drop(message.splice(at.min(whole)..at.min(whole), with)),
    }
    message
}
