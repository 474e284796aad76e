//! Communicators made of others: parts, copies, and grids.

use crosstalk_core::Fault;
use crosstalk_model::network::Operation;
use std::panic::Location;
use std::sync::Arc;

use crate::clock::CallSite;
use crate::communicator::Communicator;
use crate::rank::Rank;
use crate::scope::Scope;

impl Scope<'_, '_> {
    /// Parts the communicator: ranks of the same color are together, in the order of their keys, then of their
    /// numbers here. A rank without a color is in none.
    ///
    /// # Errors
    /// As a collective.
    #[track_caller]
    pub fn split(&mut self, color: Option<u32>, key: i64) -> Result<Option<Communicator>, Fault> {
        let at = Location::caller();
        let own = [color.map_or(-1, i64::from), key];
        let all = self.allgather(&own)?;
        let identity = self.on.next_identity(color.map_or(0, |color| 1 + u64::from(color)));
        let Some(color) = color else { return Ok(None) };
        let mut members: Vec<(i64, usize)> = Vec::new();
        for (member, wish) in all.chunks_exact(own.len()).enumerate() {
            if wish[0] == i64::from(color) {
                members.push((wish[1], member));
            }
        }
        members.sort_unstable();
        let index = members.iter().position(|(_, member)| *member == self.id());
        let index = index.ok_or_else(|| Fault::attempt("a rank is not in the part that it requested"))?;
        let world = members.iter().map(|(_, member)| self.on.rank(*member)).collect::<Result<Vec<_>, _>>()?;
        self.rank.define(identity, world, index, at).map(Some)
    }

    /// The same ranks, with messages of their own.
    ///
    /// # Errors
    /// As a collective.
    #[track_caller]
    pub fn dup(&mut self) -> Result<Communicator, Fault> {
        let part = self.split(Some(0), 0)?;
        part.ok_or_else(|| Fault::attempt("a copy of a communicator has no ranks"))
    }

    /// Arranges ranks on a grid, row by row: a rank's last coordinate grows first. Ranks beyond the grid are in none.
    ///
    /// # Errors
    /// If there are fewer ranks than places; as a collective.
    #[track_caller]
    pub fn cartesian(&mut self, extents: &[usize], periodic: &[bool]) -> Result<Option<Cartesian>, Fault> {
        let places: usize = extents.iter().product();
        if places == 0 || places > self.size() || extents.len() != periodic.len() {
            return Err(Fault::attempt(format!(
                "expected a grid of 1 to {} places, each extent with a period or without, found {extents:?} and {periodic:?}",
                self.size()
            )));
        }
        let within = self.id() < places;
        let part = self.split(within.then_some(0), 0)?;
        Ok(part.map(|communicator| Cartesian {
            communicator,
            extents: extents.to_vec(),
            periodic: periodic.to_vec(),
        }))
    }
}

impl Rank<'_> {
    fn define(
        &mut self,
        identity: u64,
        members: Vec<usize>,
        own: usize,
        at: CallSite,
    ) -> Result<Communicator, Fault> {
        self.operation(|rank| {
            rank.defined += 1;
            if let Some(server) = rank.clock.server() {
                let members = Arc::from_iter(members.iter().map(|member| *member as u32));
                server.report(&mut rank.mesh, &Operation::Define { identity, members }, at)?;
            }
            Ok(Communicator::of(identity, rank.defined, members, own))
        })
    }
}

/// Ranks on a grid.
#[derive(Debug, Clone)]
pub struct Cartesian {
    communicator: Communicator,
    extents: Vec<usize>,
    periodic: Vec<bool>,
}

impl Cartesian {
    /// The communicator of the ranks on the grid.
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }

    /// A rank's coordinates.
    pub fn coordinates(&self, rank: usize) -> Vec<usize> {
        let mut left = rank;
        let mut coordinates: Vec<usize> = self
            .extents
            .iter()
            .rev()
            .map(|extent| {
                let coordinate = left % extent;
                left /= extent;
                coordinate
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// The rank at these coordinates; `None` beyond the end of a dimension that is not periodic.
    pub fn rank(&self, coordinates: &[i64]) -> Option<usize> {
        let mut rank = 0;
        for ((coordinate, extent), periodic) in coordinates.iter().zip(&self.extents).zip(&self.periodic) {
            let index = if *periodic { coordinate.rem_euclid(*extent as i64) } else { *coordinate };
            let index = usize::try_from(index).ok().filter(|index| index < extent)?;
            rank = rank * extent + index;
        }
        Some(rank)
    }

    /// The neighbours of this rank along a dimension, `distance` before and after it.
    pub fn shift(&self, dimension: usize, distance: i64) -> (Option<usize>, Option<usize>) {
        let own: Vec<i64> = self
            .coordinates(self.communicator.id())
            .into_iter()
            .map(|coordinate| coordinate as i64)
            .collect();
        let at = |distance: i64| {
            let mut there = own.clone();
            there[dimension] += distance;
            self.rank(&there)
        };
        (at(-distance), at(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_placed_row_by_row_and_meet_at_the_ends_of_periodic_dimensions() {
        let grid = |own| Cartesian {
            communicator: Communicator::world(own, 6),
            extents: vec![2, 3],
            periodic: vec![false, true],
        };
        assert_eq!((grid(0).coordinates(4), grid(0).rank(&[1, 1])), (vec![1, 1], Some(4)));
        assert_eq!(grid(5).shift(1, 1), (Some(4), Some(3)));
        assert_eq!(grid(5).shift(0, 1), (Some(2), None));
    }
}
