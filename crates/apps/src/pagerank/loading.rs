//! Loading within the clock: the master has the edge list, and sends each slave its part before the iterations.
//!
//! The list is in the master's memory before the clock starts, as text: `source`, a tab, `target`, a line for each edge. So
//! no disk is read. Slaves turn the text into numbers and divide the edges among each other, on all their cores.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;
use crosstalk_core::value::parameter_fault;
use std::io::Write;

use super::edge::Edge;
use super::names::Names;
use super::source::{Extent, Source, changed_file_fault};
use crate::coordination::MASTER;

/// The tag of messages with a part of the edge list.
const TAG: u32 = 1;

/// An edge list as text, in chunks. Chunk `k` is slave `k mod slaves`'.
pub struct EdgeText {
    chunks: Vec<Vec<u8>>,
}

impl EdgeText {
    /// The edges of `source`.
    ///
    /// # Errors
    /// A usage fault where vertices have other names than small numbers; an attempt fault where the file changes meanwhile.
    pub fn of(source: &Source, extent: Extent) -> Result<Self, Fault> {
        check_labels(extent)?;
        let names = Names::Same(extent.labels.unwrap_or_default());
        let mut reader = source.open_chunks(&names, 0, 1)?;
        let (mut edges, mut chunks) = (Vec::new(), Vec::new());
        while reader.next(&mut edges)? {
            chunks.push(as_text(&edges));
        }
        if chunks.len() as u64 != extent.chunks {
            return Err(changed_file_fault());
        }
        Ok(EdgeText { chunks })
    }

    /// Sends each slave its chunks, in turn.
    ///
    /// # Errors
    /// If a slave is gone.
    pub fn send(self, slaves: usize, rank: &mut Rank) -> Result<(), Fault> {
        let mut turn = (0..slaves).cycle();
        for chunk in self.chunks {
            let slave = turn.next().unwrap_or_default();
            rank.world().send(MASTER + 1 + slave, TAG, &chunk)?;
        }
        Ok(())
    }
}

/// Refuses vertices whose names would need tables of their own.
///
/// # Errors
/// A usage fault.
pub fn check_labels(extent: Extent) -> Result<(), Fault> {
    match extent.labels {
        Some(_) => Ok(()),
        None => Err(parameter_fault(
            "clock",
            "loading within the clock needs vertices that are numbers without large gaps".into(),
        )
        .remedy("number the vertices from 0, or leave out `clock`")),
    }
}

/// A slave's side of [`EdgeText::send`]: its edges.
///
/// # Errors
/// If the master is gone, or a message holds something else.
pub fn receive(extent: Extent, rank: &mut Rank) -> Result<Source, Fault> {
    let (slave, slaves) = (rank.id() - MASTER - 1, rank.size() - 1);
    let mut chunks = Vec::new();
    for _ in (slave as u64..extent.chunks).step_by(slaves) {
        let text = rank.world().recv::<u8>(MASTER, TAG)?;
        chunks.push(rank.compute_in_parallel(|| from_text(&text))?);
    }
    Ok(Source::Held { chunks, labels: None })
}

fn as_text(edges: &[Edge]) -> Vec<u8> {
    let mut text = Vec::with_capacity(16 * edges.len());
    for Edge { source, target } in edges {
        writeln!(text, "{source}\t{target}").expect("memory takes it");
    }
    text
}

fn from_text(text: &[u8]) -> Result<Vec<Edge>, Fault> {
    let mut edges = Vec::with_capacity(text.len() / 8);
    let mut rest = text;
    while !rest.is_empty() {
        let (source, after) = number(rest, b'\t')?;
        let (target, after) = number(after, b'\n')?;
        edges.push(Edge { source, target });
        rest = after;
    }
    Ok(edges)
}

/// A number up to the byte `end`, and what follows that.
fn number(text: &[u8], end: u8) -> Result<(u32, &[u8]), Fault> {
    let mut value: u32 = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let digit = u32::from(byte - b'0');
                match value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) {
                    Some(longer) => value = longer,
                    None => break,
                }
            }
            _ if *byte == end && at > 0 => return Ok((value, &text[at + 1..])),
            _ => break,
        }
    }
    Err(Fault::attempt("a part of the edge list is no list of edges"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn edges_survive(pairs in prop::collection::vec((0_u32..1 << 28, 0_u32..1 << 28), 0..50)) {
            let edges: Vec<Edge> = pairs.iter().map(|(source, target)| Edge { source: *source, target: *target }).collect();
            prop_assert_eq!(from_text(&as_text(&edges)), Ok(edges));
        }
    }

    #[test]
    fn what_is_no_edge_is_a_fault() {
        for bad in ["1", "1\t", "1\t2", "\t2\n", "1\t\n", "1 2\n", "a\tb\n", "1\n2\n"] {
            assert!(from_text(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
