//! Where the pieces of a collective are.

use crosstalk_model::collective::Pieces;
use smallvec::SmallVec;
use std::ops::Range;

/// The pieces that a rank holds.
pub(crate) enum Store<'d> {
    /// Parts of one vector, cut between elements.
    Vector {
        bytes: &'d mut [u8],
        /// Bytes of an element.
        width: usize,
        pieces: usize,
    },
    /// Pieces of one size: `0..received` are sent, from one buffer, and those from `received` on are in another.
    Blocks { send: &'d [u8], hold: &'d mut [u8], each: usize, received: usize },
    /// Pieces of any size.
    Separate(Vec<Vec<u8>>),
}

/// Slices of a message, in order.
pub(crate) type Parts<'s> = SmallVec<[&'s [u8]; 2]>;

impl Store<'_> {
    /// The bytes of consecutive pieces in their buffer.
    fn range(&self, first: usize, count: usize) -> Range<usize> {
        match self {
            Store::Vector { bytes, width, pieces } => {
                let elements = (bytes.len() / width) as u128;
                let bound = |piece: usize| (elements * piece as u128 / *pieces as u128) as usize * width;
                bound(first)..bound(first + count)
            }
            Store::Blocks { each, received, .. } => {
                let first = first.checked_sub(*received).unwrap_or(first);
                first * each..(first + count) * each
            }
            Store::Separate(_) => 0..0,
        }
    }

    /// The pieces as runs of consecutive ones: (first, how many).
    fn runs(pieces: Pieces) -> SmallVec<[(usize, usize); 2]> {
        match pieces {
            Pieces::Range { first, count, of } if first + count <= of => {
                SmallVec::from_slice(&[(first, count)])
            }
            Pieces::Range { first, count, of } => {
                SmallVec::from_slice(&[(first, of - first), (0, first + count - of)])
            }
            Pieces::WithBit { .. } => {
                let mut runs: SmallVec<[(usize, usize); 2]> = SmallVec::new();
                for piece in pieces.numbers() {
                    match runs.last_mut() {
                        Some((first, count)) if *first + *count == piece => *count += 1,
                        _ => runs.push((piece, 1)),
                    }
                }
                runs
            }
        }
    }

    /// The bytes of pieces.
    pub(crate) fn parts(&self, pieces: Pieces) -> Parts<'_> {
        match self {
            Store::Separate(all) => pieces.numbers().map(|piece| &all[piece][..]).collect(),
            Store::Vector { bytes, .. } => {
                Self::runs(pieces).iter().map(|(first, count)| &bytes[self.range(*first, *count)]).collect()
            }
            Store::Blocks { send, hold, received, .. } => {
                let part = |(first, count): &(usize, usize)| {
                    let range = self.range(*first, *count);
                    if first < received { &send[range] } else { &hold[range] }
                };
                Self::runs(pieces).iter().map(part).collect()
            }
        }
    }

    /// How many bytes pieces have; `None`: their sender knows.
    pub(crate) fn length(&self, pieces: Pieces) -> Option<usize> {
        match self {
            Store::Separate(_) => None,
            _ => Some(Self::runs(pieces).iter().map(|(first, count)| self.range(*first, *count).len()).sum()),
        }
    }

    /// Where pieces go that are consecutive in memory; `None`: they are not.
    pub(crate) fn slot(&mut self, pieces: Pieces) -> Option<&mut [u8]> {
        let runs = Self::runs(pieces);
        let [(first, count)] = runs[..] else { return None };
        let range = self.range(first, count);
        match self {
            Store::Vector { bytes, .. } => Some(&mut bytes[range]),
            Store::Blocks { hold, .. } => Some(&mut hold[range]),
            Store::Separate(_) => None,
        }
    }

    /// Pieces to send and others to receive, if both are consecutive and apart.
    pub(crate) fn both(&mut self, sent: Pieces, received: Pieces) -> Option<(&[u8], &mut [u8])> {
        let (sent, received) = (Self::runs(sent), Self::runs(received));
        let ([(from, sent)], [(to, count)]) = (&sent[..], &received[..]) else { return None };
        let (out, into) = (self.range(*from, *sent), self.range(*to, *count));
        match self {
            Store::Separate(_) => None,
            Store::Vector { bytes, .. } => apart(bytes, out, into),
            Store::Blocks { send, hold, received, .. } => match from < received {
                true => Some((&send[out], &mut hold[into])),
                false => apart(hold, out, into),
            },
        }
    }

    /// Keeps a message as pieces. False: it has another length.
    pub(crate) fn keep(&mut self, pieces: Pieces, body: Vec<u8>) -> bool {
        if let Store::Separate(all) = self {
            // Of any size, a message carries one piece.
            if let Some(piece) = pieces.numbers().next() {
                all[piece] = body;
            }
            return true;
        }
        if self.length(pieces) != Some(body.len()) {
            return false;
        }
        let mut rest = &body[..];
        for (first, count) in Self::runs(pieces) {
            let range = self.range(first, count);
            let into = match self {
                Store::Vector { bytes, .. } => &mut bytes[range],
                Store::Blocks { hold, .. } => &mut hold[range],
                Store::Separate(_) => return true,
            };
            let (now, later) = rest.split_at(into.len());
            into.copy_from_slice(now);
            rest = later;
        }
        true
    }

    /// Pieces were sent to the only rank that gets them: their memory is free.
    pub(crate) fn forget(&mut self, pieces: Pieces) {
        if let Store::Separate(all) = self {
            pieces.numbers().for_each(|piece| all[piece] = Vec::new());
        }
    }
}

/// Two ranges of one buffer, if they are apart.
fn apart(whole: &mut [u8], out: Range<usize>, into: Range<usize>) -> Option<(&[u8], &mut [u8])> {
    if out.end <= into.start {
        let (low, high) = whole.split_at_mut(into.start);
        return Some((&low[out], &mut high[..into.len()]));
    }
    if into.end <= out.start {
        let (low, high) = whole.split_at_mut(out.start);
        return Some((&high[..out.len()], &mut low[into]));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_cut_between_elements() {
        let mut bytes: Vec<u8> = (0..20).collect();
        let store = Store::Vector { bytes: &mut bytes, width: 4, pieces: 3 };
        let lengths: Vec<usize> = (0..3).map(|piece| store.parts(Pieces::one(piece))[0].len()).collect();
        assert_eq!(lengths, [4, 8, 8]);
        assert_eq!(store.parts(Pieces::all(3))[0], (0..20).collect::<Vec<u8>>());
    }

    #[test]
    fn pieces_that_go_round_are_two_parts_and_come_back_to_their_places() {
        let mut hold: Vec<u8> = (0..8).collect();
        let round = Pieces::Range { first: 3, count: 2, of: 4 };
        let mut store = Store::Blocks { send: &[], hold: &mut hold, each: 2, received: 0 };
        assert_eq!(store.parts(round).concat(), [6, 7, 0, 1]);
        assert!(store.slot(round).is_none());
        assert!(!store.keep(round, vec![9; 3]), "another length");
        assert!(store.keep(round, vec![10, 11, 12, 13]));
        assert_eq!(hold, [12, 13, 2, 3, 4, 5, 10, 11]);
    }

    #[test]
    fn what_is_sent_and_what_is_received_may_share_a_buffer_if_they_are_apart() {
        let mut bytes: Vec<u8> = (0..8).collect();
        let mut store = Store::Vector { bytes: &mut bytes, width: 1, pieces: 4 };
        for (sent, received) in [(0, 3), (3, 0), (1, 2)] {
            let (out, into) = store.both(Pieces::one(sent), Pieces::one(received)).expect("they are apart");
            assert_eq!((out[0], into[0]), (2 * sent as u8, 2 * received as u8));
        }
        assert!(store.both(Pieces::one(1), Pieces::all(4)).is_none());
    }
}
