//! Answers as bytes: one that says which kind it is, then numbers as in a schedule.
//!
//! | byte | answer | numbers |
//! |---|---|---|
//! | 1 | received | from, number |
//! | 2 | all requests are done | how many; for each 0, or 1, from, number |
//! | 3 | one of them is | its index; 0, or 1, from, number |
//! | 4 | a test found it undone | |
//! | 5 | a test found it done | 0, or 1, from, number |
//! | 6 | the clock | compute, wait, serialise, spill, in picoseconds |
//! | 7 | done | |
//! | 8 | a fault | text (JSON) |

use crosstalk_core::Fault;
use crosstalk_model::network::{Answer, Received, TimeBreakdown};
use crosstalk_model::schedule::codec::{Reader, put, put_text};
use crosstalk_model::time::VirtualTime;

/// An answer, or the fault by which all ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Reply {
    Answer(Answer),
    Fault(Fault),
}

fn put_received(bytes: &mut Vec<u8>, received: Option<&Received>) {
    put(bytes, u64::from(received.is_some()));
    if let Some(Received { from, number }) = received {
        put(bytes, u64::from(*from));
        put(bytes, *number);
    }
}

/// Appends an answer.
pub(super) fn put_answer(bytes: &mut Vec<u8>, answer: &Answer) {
    match answer {
        Answer::Received(received) => {
            bytes.push(1);
            put(bytes, u64::from(received.from));
            put(bytes, received.number);
        }
        Answer::All(all) => {
            bytes.push(2);
            put(bytes, all.len() as u64);
            all.iter().for_each(|received| put_received(bytes, received.as_ref()));
        }
        Answer::Any(index, received) => {
            bytes.push(3);
            put(bytes, u64::from(*index));
            put_received(bytes, received.as_ref());
        }
        Answer::Tested(None) => bytes.push(4),
        Answer::Tested(Some(received)) => {
            bytes.push(5);
            put_received(bytes, received.as_ref());
        }
        Answer::Account(clock) => {
            bytes.push(6);
            [clock.compute, clock.wait, clock.serialise, clock.spill]
                .iter()
                .for_each(|part| put(bytes, part.0));
        }
        Answer::Done => bytes.push(7),
    }
}

/// Appends a fault.
pub(super) fn put_fault(bytes: &mut Vec<u8>, fault: &Fault) {
    bytes.push(8);
    // A fault has texts and numbers only, which are always written.
    put_text(bytes, &serde_json::to_string(fault).unwrap_or_default());
}

/// The next answer; `None`: it is not whole yet, or none.
pub(super) fn read(reader: &mut Reader) -> Option<Reply> {
    let kind = *reader.bytes(1)?.first()?;
    if kind == 8 {
        let text = reader.text()?;
        let fault = serde_json::from_str(&text);
        return Some(Reply::Fault(fault.unwrap_or_else(|_| Fault::attempt("the clock server failed"))));
    }
    Some(Reply::Answer(match kind {
        1 => Answer::Received(read_received(reader)?),
        2 => {
            let count = reader.number()?;
            Answer::All((0..count).map(|_| read_optional(reader)).collect::<Option<_>>()?)
        }
        3 => Answer::Any(u32::try_from(reader.number()?).ok()?, read_optional(reader)?),
        4 => Answer::Tested(None),
        5 => Answer::Tested(Some(read_optional(reader)?)),
        6 => {
            let mut part = || reader.number().map(VirtualTime);
            let [compute, wait, serialise, spill] = [part()?, part()?, part()?, part()?];
            Answer::Account(TimeBreakdown { compute, wait, serialise, spill })
        }
        7 => Answer::Done,
        _ => return None,
    }))
}

fn read_received(reader: &mut Reader) -> Option<Received> {
    Some(Received { from: u32::try_from(reader.number()?).ok()?, number: reader.number()? })
}

fn read_optional(reader: &mut Reader) -> Option<Option<Received>> {
    match reader.number()? {
        0 => Some(None),
        _ => read_received(reader).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn received() -> impl Strategy<Value = Received> {
        (any::<u32>(), any::<u64>()).prop_map(|(from, number)| Received { from, number })
    }

    fn answer() -> impl Strategy<Value = Answer> {
        let optional = || prop::option::of(received());
        let clock = any::<[u64; 4]>().prop_map(|[compute, wait, serialise, spill]| TimeBreakdown {
            compute: VirtualTime(compute),
            wait: VirtualTime(wait),
            serialise: VirtualTime(serialise),
            spill: VirtualTime(spill),
        });
        prop_oneof![
            received().prop_map(Answer::Received),
            prop::collection::vec(optional(), 0..5).prop_map(Answer::All),
            (any::<u32>(), optional()).prop_map(|(index, received)| Answer::Any(index, received)),
            prop::option::of(optional()).prop_map(Answer::Tested),
            clock.prop_map(Answer::Account),
            Just(Answer::Done),
        ]
    }

    proptest! {
        #[test]
        fn answers_are_the_same_after_the_wire_and_none_before_they_are_whole(answer in answer()) {
            let mut bytes = Vec::new();
            put_answer(&mut bytes, &answer);
            for end in 0..bytes.len() {
                prop_assert_eq!(read(&mut Reader::new(&bytes[..end])), None);
            }
            prop_assert_eq!(read(&mut Reader::new(&bytes)), Some(Reply::Answer(answer)));
        }
    }

    #[test]
    fn a_fault_is_the_same_after_the_wire() {
        let fault = Fault::attempt("deadlock").on(3).at("a.rs:7").remedy("send first");
        let mut bytes = Vec::new();
        put_fault(&mut bytes, &fault);
        assert_eq!(read(&mut Reader::new(&bytes)), Some(Reply::Fault(fault)));
    }
}
