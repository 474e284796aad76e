//! Messages as a broken or hostile host sends them, for tests.

use proptest::prelude::*;
use std::ops::Range;

/// What happens to a message.
#[derive(Debug, Clone)]
enum Injury {
    LeftOut(Range<usize>),
    Repeated(Range<usize>, usize),
    Inserted(usize, Vec<u8>),
}

/// The message with bytes left out, repeated and inserted, at one to four places.
pub fn spoilt(message: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let most = message.len();
    let range = move || (0..=most, 0..40_usize).prop_map(move |(from, length)| from..most.min(from + length));
    let injury = prop_oneof![
        range().prop_map(Injury::LeftOut),
        (range(), 1..9_usize).prop_map(|(range, times)| Injury::Repeated(range, times)),
        (0..=most, proptest::collection::vec(any::<u8>(), 1..12))
            .prop_map(|(at, with)| Injury::Inserted(at, with)),
    ];
    proptest::collection::vec(injury, 1..5)
        .prop_map(move |injuries| injuries.into_iter().fold(message.clone(), suffer))
}

fn suffer(mut message: Vec<u8>, injury: Injury) -> Vec<u8> {
    // An injury before may have left less.
    let whole = message.len();
    let within = |range: Range<usize>| range.start.min(whole)..range.end.min(whole);
    match injury {
        Injury::LeftOut(range) => drop(message.drain(within(range))),
        Injury::Repeated(range, times) => {
            let range = within(range);
            let again = message[range.clone()].repeat(times);
            message.splice(range.end..range.end, again);
        }
        Injury::Inserted(at, with) => drop(message.splice(at.min(whole)..at.min(whole), with)),
    }
    message
}
