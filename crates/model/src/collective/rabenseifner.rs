//! Recursive halving, and what Rabenseifner builds from it: a vector is cut into pieces, in each round two
//! ranks exchange half of what is left to combine, and the combined pieces are collected at last.

use super::pieces::Pieces;
use super::round::{Action, Position, Round};

/// How a number of ranks that is no power of two becomes one. With n ranks and the power p below, the first
/// 2·(n − p) ranks form pairs. In each, one *stands in* for both: it combines the other's vector into its own
/// before, and may give the result back after. Ranks that take part are numbered anew, from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold {
    position: Position,
    /// The rank counted from where numbering begins.
    own: usize,
    origin: usize,
    /// How many pairs there are.
    pairs: usize,
}

/// A rank's part in a [`Fold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It takes part, under this number.
    Alone(usize),
    /// It takes part under this number, and stands in for that rank.
    StandsIn(usize, usize),
    /// That rank stands in for it.
    IsOut(usize),
}

impl Fold {
    /// The fold of all ranks, numbered from `origin` on. That rank takes part.
    pub(super) fn of(position: Position, origin: usize) -> Self {
        let own = (position.rank + position.size - origin) % position.size;
        Fold { position, own, origin, pairs: position.size - position.power() }
    }

    /// The rank that takes part under this number.
    pub(super) fn rank(&self, number: usize) -> usize {
        (self.first_piece(number) + self.origin) % self.position.size
    }

    /// The first of the ranks that this number stands for, counted from the origin.
    fn first_piece(&self, number: usize) -> usize {
        if number < self.pairs { 2 * number } else { number + self.pairs }
    }

    fn part(&self) -> Part {
        let rank = |own: usize| (own + self.origin) % self.position.size;
        match self.own < 2 * self.pairs {
            false => Part::Alone(self.own - self.pairs),
            true if self.own.is_multiple_of(2) => Part::StandsIn(self.own / 2, rank(self.own + 1)),
            true => Part::IsOut(rank(self.own - 1)),
        }
    }

    /// Rounds that are `within` a power of two, by number and round, between folding and giving `back` the
    /// result.
    fn rounds(
        &self,
        round: usize,
        whole: Pieces,
        back: Option<Pieces>,
        within: impl Fn(usize, usize) -> Option<Round>,
    ) -> Option<Round> {
        let (number, other) = match self.part() {
            Part::IsOut(other) => {
                return match round {
                    0 => Some(Round::send(other, whole)),
                    1 => back.map(|back| Round::receive(other, back, Action::Keep)),
                    _ => None,
                };
            }
            Part::Alone(number) => return within(number, round),
            Part::StandsIn(number, other) => (number, other),
        };
        let Some(round) = round.checked_sub(1) else {
            return Some(Round::receive(other, whole, Action::Combine));
        };
        within(number, round).or_else(|| {
            let is_first_after = round == 0 || within(number, round - 1).is_some();
            back.filter(|_| is_first_after).map(|back| Round::send(other, back))
        })
    }

    /// The same where all pieces are combined and given back.
    pub(super) fn around(
        &self,
        round: usize,
        whole: Pieces,
        within: impl Fn(usize, usize) -> Option<Round>,
    ) -> Option<Round> {
        self.rounds(round, whole, Some(whole), within)
    }
}

/// How many rounds halving takes.
fn halvings(position: Position) -> usize {
    position.size.ilog2() as usize
}

/// Round `round` of recursive halving by number; `range` are the pieces of the numbers `from..to`.
fn halve(
    position: Position,
    fold: Fold,
    number: usize,
    round: usize,
    range: impl Fn(usize, usize) -> Pieces,
) -> Round {
    let half = position.power() >> (round + 1);
    let partner = number ^ half;
    let block = |number: usize| {
        let first = number & !(half - 1);
        range(first, first + half)
    };
    let rank = fold.rank(partner);
    Round::send(rank, block(partner)).and_receive(rank, block(number), Action::Combine)
}

/// The pieces `from..to` of a vector in `of`.
fn range(of: usize) -> impl Fn(usize, usize) -> Pieces {
    move |from, to| Pieces::Range { first: from, count: to - from, of }
}

/// Every rank gets the combination of all: recursive halving, then recursive doubling.
pub(super) fn allreduce(position: Position, round: usize) -> Option<Round> {
    let (fold, power) = (Fold::of(position, 0), position.power());
    fold.around(round, Pieces::all(power), |number, round| {
        let Some(round) = round.checked_sub(halvings(position)) else {
            return Some(halve(position, fold, number, round, range(power)));
        };
        let have = 1 << round;
        (have < power).then(|| {
            let partner = number ^ have;
            let block = |number: usize| range(power)(number & !(have - 1), (number & !(have - 1)) + have);
            let rank = fold.rank(partner);
            Round::send(rank, block(number)).and_receive(rank, block(partner), Action::Keep)
        })
    })
}

/// The root gets the combination of all: recursive halving, then a binomial tree.
pub(super) fn reduce(position: Position, round: usize) -> Option<Round> {
    let (fold, power) = (Fold::of(position, position.root), position.power());
    fold.rounds(round, Pieces::all(power), None, |number, round| {
        let Some(round) = round.checked_sub(halvings(position)) else {
            return Some(halve(position, fold, number, round, range(power)));
        };
        let have = 1 << round;
        if have >= power || number & (have - 1) != 0 {
            return None;
        }
        Some(if number & have != 0 {
            Round::send(fold.rank(number - have), range(power)(number, number + have))
        } else {
            let from = number + have;
            Round::receive(fold.rank(from), range(power)(from, from + have), Action::Keep)
        })
    })
}

/// Each rank gets its piece of the combination of all. Who stands in for another gives it its piece.
pub(super) fn reduce_scatter(position: Position, round: usize) -> Option<Round> {
    let fold = Fold::of(position, 0);
    let pieces = |from: usize, to: usize| {
        let first = fold.first_piece(from);
        Pieces::Range { first, count: fold.first_piece(to) - first, of: position.size }
    };
    let other = match fold.part() {
        Part::IsOut(_) => position.rank,
        _ => position.rank + 1,
    };
    fold.rounds(round, Pieces::all(position.size), Some(Pieces::one(other)), |number, round| {
        (round < halvings(position)).then(|| halve(position, fold, number, round, pieces))
    })
}
