//! Ghosts: one axis after the other, so that edges and corners come along with the later ones. With several ranks
//! each sends the faces of its part as messages, also to itself where it is alone along an axis, as the reference
//! does.

use crosstalk_comm::{Envelope, Rank, Request};
use crosstalk_core::Fault;

use super::grid::{Grid, Region};
use super::level::Level;

/// Where messages go: to the rank before or to the rank after.
const BEFORE: u32 = 0;
const AFTER: u32 = 1;

fn tag(axis: usize, direction: u32) -> u32 {
    10 * (axis as u32 + 1) + direction
}

/// Room for faces.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    face: Vec<f64>,
}

impl Exchange {
    /// Fills the ghosts of a level. A rank without points of its own clears all that it has.
    pub(super) fn ghosts(&mut self, rank: &mut Rank, level: &Level, grid: &mut Grid) -> Result<(), Fault> {
        if level.idle {
            grid.points.fill(0.0);
            return Ok(());
        }
        for axis in 0..3 {
            if rank.size() == 1 {
                grid.wrap(axis);
                continue;
            }
            let last = grid.extents[axis] - 1;
            // Axes before this one have their ghosts already.
            let face = |at: usize| {
                let mut region = grid.inner();
                (0..axis).for_each(|done| region[done] = 0..grid.extents[done]);
                region[axis] = at..at + 1;
                region
            };
            let [low, first, top, high] = [0, 1, last - 1, last].map(face);
            let requests = self.receive(rank, level, axis)?;
            self.send(rank, level, grid, axis, [top, first])?;
            self.put(rank, requests, grid, [low, high])?;
        }
        Ok(())
    }

    /// Sends a face to the rank after and one to the rank before.
    fn send(
        &mut self,
        rank: &mut Rank,
        level: &Level,
        grid: &Grid,
        axis: usize,
        [to_after, to_before]: [Region; 2],
    ) -> Result<(), Fault> {
        let [before, after] = level.neighbours[axis];
        grid.gather(to_after, &mut self.face);
        rank.world().send(after, tag(axis, AFTER), &self.face)?;
        grid.gather(to_before, &mut self.face);
        rank.world().send(before, tag(axis, BEFORE), &self.face)
    }

    /// Begins to receive what the ranks after and before send.
    fn receive(&mut self, rank: &mut Rank, level: &Level, axis: usize) -> Result<[Request; 2], Fault> {
        let [before, after] = level.neighbours[axis];
        let from_after = rank.world().irecv(Envelope::exact(after, tag(axis, BEFORE)))?;
        let from_before = rank.world().irecv(Envelope::exact(before, tag(axis, AFTER)))?;
        Ok([from_after, from_before])
    }

    /// Waits for it, and puts it where it belongs.
    fn put(
        &mut self,
        rank: &mut Rank,
        [from_after, from_before]: [Request; 2],
        grid: &mut Grid,
        [low, high]: [Region; 2],
    ) -> Result<(), Fault> {
        for (request, region) in [(from_after, high), (from_before, low)] {
            self.face.resize(region.iter().map(|range| range.len()).product(), 0.0);
            let message = rank.wait(request)?.message();
            let message = message.ok_or_else(|| Fault::attempt("a receive ended without a message"))?;
            message.elements_into(&mut self.face)?;
            grid.scatter(region, &self.face);
        }
        Ok(())
    }

    /// When a level is entered from a coarser one: ranks that had no points there get their first ones, and ghosts,
    /// from those that had.
    pub(super) fn expand(&mut self, rank: &mut Rank, level: &Level, grid: &mut Grid) -> Result<(), Fault> {
        for axis in 0..3 {
            let extent = grid.extents[axis];
            let slab = |from: usize, to: usize| {
                let mut region = grid.extents.map(|extent| 0..extent);
                region[axis] = from..to;
                region
            };
            let (first_two, last_two) = (slab(0, 2), slab(extent - 2, extent));
            let (first, last) = (slab(1, 2), slab(extent - 1, extent));
            if level.takes[axis] {
                let requests = self.receive(rank, level, axis)?;
                self.put(rank, requests, grid, [first_two, last])?;
            } else if level.gives[axis] {
                self.send(rank, level, grid, axis, [last_two, first])?;
            }
        }
        Ok(())
    }
}
