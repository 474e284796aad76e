//! Deadlocks in real time: ranks that wait for each other, each for a message that the next one has not sent.
//!
//! A rank that has waited for one other rank for [`PATIENCE`] asks it whether it waits, too. That rank, while it waits,
//! forwards the question to the rank that it waits for. A question that comes back to the rank that asked first has
//! gone round a cycle (edge chasing: K. M. Chandy, J. Misra and L. M. Haas, "Distributed deadlock detection", ACM TOCS
//! 1(2), 1983).
//!
//! A rank forwards a question only if all its messages had arrived, and had been considered, where the question comes
//! from. A rank that waits sends no new messages, and what it has begun to send counts as sent though it may not have left, so
//! no rank of a cycle can continue. A rank that waits for any of several
//! ranks forwards nothing: such a deadlock ends at the deadline. In virtual time the clock server finds all deadlocks.

use crosstalk_core::Fault;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::header::{Header, Kind};
use crate::link::Message;
use crate::mesh::Mesh;
use crate::waiting::Waiting;

/// How long a rank waits before it asks, and asks again.
const PATIENCE: Duration = Duration::from_secs(1);

/// One rank that waits: a line of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Waits {
    rank: u64,
    /// Which of its waits it is.
    number: u64,
    /// How many messages of the next rank had arrived there, and were considered.
    arrived: u64,
    /// The call site.
    at: String,
}

impl Mesh<'_> {
    /// Asks the rank that is waited for whether it waits, too, and forwards others' questions. Called while a rank waits,
    /// after it has found that none of the messages that have come is the one that it waits for.
    ///
    /// # Errors
    /// If ranks wait for each other.
    pub(crate) fn chase_deadlock(&mut self) -> Result<(), Fault> {
        let Waiting { from: Some(from), next, .. } = self.waiting else { return Ok(()) };
        if self.replies.is_some() || from == self.id {
            return Ok(());
        }
        // Messages that come while it asks were not considered yet.
        let arrived = self.link(from).arrived;
        let now = Instant::now();
        match next {
            None => self.waiting.next = Some(now + PATIENCE),
            Some(next) if now >= next => {
                self.waiting.next = Some(now + PATIENCE);
                self.ask(from, arrived, Vec::new())?;
            }
            Some(_) => {}
        }
        // Of several questions of one rank the newest counts.
        let mut newest = BTreeMap::new();
        while let Some((peer, message)) = self.take_question() {
            if let Some(asked) = decode(&message.body)
                && let Some(first) = asked.first().map(|first| first.rank)
            {
                newest.insert((peer, first), asked);
            }
        }
        newest.into_iter().try_for_each(|((peer, _), asked)| self.forward(peer, arrived, asked))
    }

    fn take_question(&mut self) -> Option<(usize, Message)> {
        let asks = |header: &Header| header.kind == Kind::Waits;
        self.peers().into_iter().find_map(|peer| Some((peer, self.take(peer, &asks)?)))
    }

    fn forward(&mut self, peer: usize, arrived: u64, asked: Vec<Waits>) -> Result<(), Fault> {
        let Waiting { from: Some(from), number, .. } = self.waiting else { return Ok(()) };
        let on_its_way = asked.last().is_none_or(|last| last.arrived != self.link(peer).sent);
        if on_its_way {
            return Ok(());
        }
        match asked.iter().position(|waits| waits.rank == self.id as u64) {
            Some(0) if asked[0].number == number => Err(deadlock(&asked)),
            Some(_) => Ok(()),
            None => self.ask(from, arrived, asked),
        }
    }

    fn ask(&mut self, from: usize, arrived: u64, mut asked: Vec<Waits>) -> Result<(), Fault> {
        let Waiting { at, number, .. } = self.waiting;
        let rank = self.id as u64;
        asked.push(Waits { rank, number, arrived, at: at.to_string() });
        self.send(from, Header::bare(Kind::Waits, self.id, 0), &[&encode(&asked)])
    }
}

/// The fault of ranks that wait for each other, each for the next one of the list, the last one for the first.
fn deadlock(ranks: &[Waits]) -> Fault {
    let next = ranks.iter().cycle().skip(1);
    let waits: Vec<String> = ranks
        .iter()
        .zip(next)
        .map(|(waits, next)| format!("rank {} at {} for rank {}", waits.rank, waits.at, next.rank))
        .collect();
    Fault::attempt(format!("a deadlock: ranks wait for each other, {}", waits.join(", ")))
        .on(ranks.first().map_or(0, |first| first.rank as usize))
        .remedy("let one of them send before it receives")
}

fn encode(asked: &[Waits]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for waits in asked {
        for number in [waits.rank, waits.number, waits.arrived, waits.at.len() as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(waits.at.as_bytes());
    }
    bytes
}

/// `None` where they are no question.
fn decode(mut bytes: &[u8]) -> Option<Vec<Waits>> {
    let mut asked = Vec::new();
    while !bytes.is_empty() {
        let mut number = || {
            let (first, rest) = bytes.split_first_chunk::<8>()?;
            bytes = rest;
            Some(u64::from_le_bytes(*first))
        };
        let [rank, wait, arrived, length] = [number()?, number()?, number()?, number()?];
        let (text, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        bytes = rest;
        asked.push(Waits { rank, number: wait, arrived, at: String::from_utf8(text.to_vec()).ok()? });
    }
    Some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_question_is_the_same_after_its_message(
            numbers in proptest::collection::vec((any::<[u64; 3]>(), ".{0,20}"), 0..5),
            cut in 1_usize..40,
        ) {
            let asked: Vec<Waits> = numbers
                .into_iter()
                .map(|([rank, number, arrived], at)| Waits { rank, number, arrived, at })
                .collect();
            let bytes = encode(&asked);
            prop_assert_eq!(decode(&bytes), Some(asked));
            // What was cut short is no question, or has fewer lines.
            let _ = decode(&bytes[..bytes.len().saturating_sub(cut)]);
        }
    }
}
