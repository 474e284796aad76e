//! Groups of ranks that exchange messages among themselves, under numbers of their own.

use crosstalk_core::Fault;
use std::cell::Cell;
use std::rc::Rc;

/// Ranks with numbers of their own, whose messages are apart from those of other communicators. Copies are the same
/// communicator. It can be used as long as there is one.
#[derive(Debug, Clone)]
pub struct Communicator(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Equal at all members, and at no others.
    identity: u64,
    /// This rank's number of it, as it reports it.
    number: u32,
    /// The members' numbers in the world.
    members: Vec<usize>,
    /// This rank's number in it.
    own: usize,
    /// How many collectives were called in it, and how many communicators made of it.
    collectives: Cell<u32>,
    made: Cell<u64>,
}

impl Communicator {
    /// All ranks.
    pub(crate) fn world(id: usize, size: usize) -> Self {
        Self::of(0, 0, (0..size).collect(), id)
    }

    /// The communicator of these members, to which this rank belongs as member `own`.
    pub(crate) fn of(identity: u64, number: u32, members: Vec<usize>, own: usize) -> Self {
        let (collectives, made) = (Cell::new(0), Cell::new(0));
        Communicator(Rc::new(Inner { identity, number, members, own, collectives, made }))
    }

    /// This rank's number in it.
    pub fn id(&self) -> usize {
        self.0.own
    }

    /// How many ranks it has.
    pub fn size(&self) -> usize {
        self.0.members.len()
    }

    pub(crate) fn identity(&self) -> u64 {
        self.0.identity
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    /// The number in the world of a member.
    ///
    /// # Errors
    /// An attempt fault if there is no such member.
    pub(crate) fn rank(&self, member: usize) -> Result<usize, Fault> {
        self.0
            .members
            .get(member)
            .copied()
            .ok_or_else(|| Fault::attempt(format!("expected a rank below {}, found {member}", self.size())))
    }

    /// The member that has this number in the world.
    pub(crate) fn member(&self, rank: usize) -> usize {
        // Only members send messages of a communicator.
        self.0.members.iter().position(|member| *member == rank).unwrap_or(rank)
    }

    /// The number of the next collective.
    pub(crate) fn next_collective(&self) -> u32 {
        let number = self.0.collectives.get();
        self.0.collectives.set(number.wrapping_add(1));
        number
    }

    /// An identity for the members of one color of the next split: the same at all of them.
    pub(crate) fn next_identity(&self, color: u64) -> u64 {
        let made = self.0.made.get();
        self.0.made.set(made + 1);
        mix(mix(mix(self.0.identity, 1 + made), color), 1).max(1)
    }
}

/// Spreads two numbers over 64 bits (the finaliser of SplitMix64, Steele et al., OOPSLA 2014).
fn mix(one: u64, other: u64) -> u64 {
    let mut z = one.wrapping_add(other.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identities_are_the_same_at_all_members_and_differ_otherwise() {
        let world = |id| Communicator::world(id, 4);
        let (one, other) = (world(0), world(3));
        let of =
            |parent: &Communicator| -> Vec<u64> { (0..50).map(|n| parent.next_identity(n % 5)).collect() };
        let identities = of(&one);
        assert_eq!(identities, of(&other));
        assert_eq!(identities.iter().collect::<BTreeSet<_>>().len(), 50);
    }
}
