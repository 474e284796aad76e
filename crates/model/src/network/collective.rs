//! Collectives on the network: rule 8. All members of a communicator call the same ones in the same order.

use crosstalk_core::Fault;
use crosstalk_core::mpi::Operation;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

use super::operation::{Call, Site, Sizes};
use crate::collective::{Pieces, Position, Receive, Steps};

/// A collective in which a rank takes part.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) steps: Steps,
    pub(super) communicator: u32,
    /// Which of the communicator's collectives it is.
    pub(super) number: u32,
    pub(super) bytes: PieceBytes,
    pub(super) site: Site,
    /// The receives of the current round.
    pub(super) receives: SmallVec<[Receive; 1]>,
}

/// The bytes of a rank's pieces.
#[derive(Debug)]
pub(super) enum PieceBytes {
    /// Parts of a vector.
    Parts { elements: u64, width: u32, pieces: u64 },
    /// All alike.
    Equal(u64),
    /// By piece, as far as they are known.
    Each(Vec<u64>),
}

impl PieceBytes {
    pub(super) fn of(&self, pieces: Pieces) -> u64 {
        match self {
            PieceBytes::Equal(bytes) => pieces.count() as u64 * bytes,
            PieceBytes::Each(bytes) => pieces.numbers().filter_map(|piece| bytes.get(piece)).sum(),
            PieceBytes::Parts { elements, width, pieces: of } => {
                let bound = |piece: usize| (u128::from(*elements) * piece as u128 / u128::from(*of)) as u64;
                let part = |first: usize, count: usize| bound(first + count) - bound(first);
                let elements = match pieces {
                    Pieces::Range { first, count, of } if first + count <= of => part(first, count),
                    _ => pieces.numbers().map(|piece| part(piece, 1)).sum(),
                };
                elements * u64::from(*width)
            }
        }
    }
}

/// All communicators.
#[derive(Debug)]
pub(super) struct Communicators {
    pub(super) all: Vec<Communicator>,
    by_identity: FxHashMap<u64, u32>,
}

/// Ranks by their numbers in a communicator, and the reverse.
type Members = (Arc<[u32]>, FxHashMap<u32, usize>);

#[derive(Debug)]
pub(super) struct Communicator {
    pub(super) size: usize,
    /// The members by their numbers, and the reverse; `None`: all ranks.
    members: Option<Members>,
    /// Collectives that some members have called and others have not, the first of them being number `first`.
    calls: VecDeque<Called>,
    first: u32,
}

/// A collective as its first caller called it.
#[derive(Debug)]
struct Called {
    call: Call,
    rank: u32,
    members: usize,
}

impl Communicators {
    pub(super) fn of_world(ranks: usize) -> Self {
        let world = Communicator { size: ranks, members: None, calls: VecDeque::new(), first: 0 };
        Communicators { all: vec![world], by_identity: FxHashMap::default() }
    }

    /// The number of the communicator of this identity.
    pub(super) fn define(&mut self, identity: u64, members: Arc<[u32]>) -> Result<u32, Fault> {
        if let Some(number) = self.by_identity.get(&identity) {
            let known = self.all[*number as usize].members.as_ref().map(|(members, _)| members);
            return match known == Some(&members) {
                true => Ok(*number),
                false => Err(Fault::attempt("a communicator has other members at another rank")),
            };
        }
        let number = self.all.len() as u32;
        let numbers: FxHashMap<u32, usize> =
            members.iter().enumerate().map(|(own, rank)| (*rank, own)).collect();
        if numbers.len() != members.len() || members.is_empty() {
            return Err(Fault::usage("a communicator has no member, or one twice"));
        }
        let size = members.len();
        let members = Some((members, numbers));
        self.all.push(Communicator { size, members, calls: VecDeque::new(), first: 0 });
        self.by_identity.insert(identity, number);
        Ok(number)
    }

    pub(super) fn number_in(&self, communicator: u32, rank: u32) -> Option<usize> {
        match &self.all[communicator as usize].members {
            None => Some(rank as usize),
            Some((_, numbers)) => numbers.get(&rank).copied(),
        }
    }

    /// The rank of a member.
    pub(super) fn rank(&self, communicator: u32, member: usize) -> u32 {
        match &self.all[communicator as usize].members {
            None => member as u32,
            Some((members, _)) => members[member],
        }
    }
}

impl Communicator {
    /// A member calls its collective `number`. It must be the one that others called.
    pub(super) fn call(&mut self, rank: u32, number: u32, call: &Call) -> Result<(), Fault> {
        let position = (number - self.first) as usize;
        match self.calls.get_mut(position) {
            None => self.calls.push_back(Called { call: call.clone(), rank, members: 1 }),
            Some(called) if agree(&called.call, call) => called.members += 1,
            Some(called) => {
                let describe = |call: &Call| {
                    let root = call.operation.has_root().then(|| format!(" with root {}", call.root));
                    format!("{}{} of {}", call.operation.name(), root.unwrap_or_default(), bytes(&call.sizes))
                };
                return Err(Fault::attempt(format!(
                    "calls {} where rank {} calls {}",
                    describe(call),
                    called.rank,
                    describe(&called.call)
                ))
                .remedy("let all ranks call the same collectives in the same order, with the same sizes"));
            }
        }
        while self.calls.front().is_some_and(|called| called.members == self.size) {
            self.calls.pop_front();
            self.first += 1;
        }
        Ok(())
    }
}

/// Whether two members call the same.
fn agree(one: &Call, other: &Call) -> bool {
    let of_any = |call: &Call| matches!(call.sizes, Sizes::Own(_) | Sizes::Each(_));
    let sizes = if of_any(one) { of_any(other) } else { one.sizes == other.sizes };
    one.operation == other.operation && one.root == other.root && sizes
}

fn bytes(sizes: &Sizes) -> String {
    match sizes {
        Sizes::Vector { elements, width } => format!("{elements} elements of {width} bytes"),
        Sizes::Equal(bytes) => format!("{bytes} bytes a rank"),
        Sizes::Own(_) | Sizes::Each(_) => "any sizes".into(),
    }
}

pub(super) fn piece_bytes(call: &Call, pieces: usize, position: Position) -> Result<PieceBytes, Fault> {
    let is_vector = call.operation.combines() || call.operation == Operation::Bcast;
    match (&call.sizes, call.operation.has_any_sizes()) {
        (Sizes::Vector { elements, width }, false) if is_vector => {
            Ok(PieceBytes::Parts { elements: *elements, width: *width, pieces: pieces as u64 })
        }
        (Sizes::Equal(bytes), false) if !is_vector => Ok(PieceBytes::Equal(*bytes)),
        // A vector of a length that the root knows: one piece.
        (Sizes::Own(bytes), false) if call.operation == Operation::Bcast => {
            Ok(PieceBytes::Each(vec![*bytes]))
        }
        (Sizes::Own(bytes), true) => {
            let mut each = vec![0; position.size];
            each[position.rank] = *bytes;
            Ok(PieceBytes::Each(each))
        }
        (Sizes::Each(each), true) if each.len() == position.size => Ok(PieceBytes::Each(each.to_vec())),
        _ => Err(Fault::usage(format!("{} has other sizes than its kind has", call.operation.name()))),
    }
}
