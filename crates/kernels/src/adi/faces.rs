//! What neighbours know of each other's cells: two layers of points on each side. All that a rank has for a neighbour
//! goes in one message, six in all.

use std::ops::Range;

use crosstalk_comm::{Completed, Envelope, Rank};
use crosstalk_core::Fault;

use super::cell::Cell;
use super::field::GHOSTS;
use super::partition::Partition;
use crate::flow::VALUES;

/// Tags are those of a side: twice the direction, and one more for what goes to the cells after.
const TAG: u32 = 100;

/// One side of a rank's cells.
#[derive(Debug, Clone, Copy)]
struct Side {
    direction: usize,
    /// Towards the cells after, not before.
    after: bool,
}

impl Side {
    const ALL: [Side; 6] = [
        Side { direction: 0, after: true },
        Side { direction: 0, after: false },
        Side { direction: 1, after: true },
        Side { direction: 1, after: false },
        Side { direction: 2, after: true },
        Side { direction: 2, after: false },
    ];

    fn tag(self) -> u32 {
        TAG + 2 * self.direction as u32 + u32::from(self.after)
    }

    fn opposite(self) -> Self {
        Side { after: !self.after, ..self }
    }

    fn neighbour(self, partition: &Partition) -> usize {
        if self.after { partition.after[self.direction] } else { partition.before[self.direction] }
    }

    /// The cells that have a neighbour on this side.
    fn cells(self, partition: &Partition) -> impl Iterator<Item = usize> + use<> {
        let last = if self.after { partition.layers - 1 } else { 0 };
        let layers: Vec<usize> = partition.cells.iter().map(|cell| cell[self.direction]).collect();
        (0..layers.len()).filter(move |cell| layers[*cell] != last)
    }

    /// Coordinates of the outermost own points on this side, or of the neighbour's beyond.
    fn points(self, cell: &Cell, own: bool) -> [Range<usize>; 3] {
        let mut of = cell.own();
        let Range { start, end } = of[self.direction];
        of[self.direction] = match (self.after, own) {
            (true, true) => end - GHOSTS..end,
            (true, false) => end..end + GHOSTS,
            (false, true) => start..start + GHOSTS,
            (false, false) => start - GHOSTS..start,
        };
        of
    }
}

/// What is sent and received again and again.
#[derive(Debug, Clone)]
pub(crate) struct Faces {
    /// For each side, which cells have a neighbour there.
    cells: [Vec<usize>; 6],
    buffers: [Vec<f64>; 6],
}

impl Faces {
    /// Room for all messages.
    pub(crate) fn new(partition: &Partition, cells: &[Cell]) -> Self {
        let of = Side::ALL.map(|side| side.cells(partition).collect::<Vec<usize>>());
        let length = |side: usize| -> usize {
            let direction = Side::ALL[side].direction;
            let area =
                |cell: &usize| cells[*cell].size.iter().product::<usize>() / cells[*cell].size[direction];
            of[side].iter().map(|cell| GHOSTS * VALUES * area(cell)).sum()
        };
        let buffers = [0, 1, 2, 3, 4, 5].map(|side| vec![0.0; length(side)]);
        Faces { cells: of, buffers }
    }

    /// Sends what neighbours need of the flow, and receives what is needed of theirs.
    ///
    /// # Errors
    /// If other ranks are gone.
    pub(crate) fn exchange(
        &mut self,
        rank: &mut Rank,
        partition: &Partition,
        cells: &mut [Cell],
    ) -> Result<(), Fault> {
        if partition.layers == 1 {
            return Ok(());
        }
        let mut requests = Vec::with_capacity(2 * Side::ALL.len());
        for side in Side::ALL {
            let envelope = Envelope::exact(side.neighbour(partition), side.opposite().tag());
            requests.push(rank.world().irecv(envelope)?);
        }
        for (number, side) in Side::ALL.into_iter().enumerate() {
            self.collect(number, cells);
            requests.push(rank.world().isend(
                side.neighbour(partition),
                side.tag(),
                &self.buffers[number],
            )?);
        }
        let done = rank.wait_all(requests)?;
        for (number, message) in done.into_iter().filter_map(Completed::message).enumerate() {
            message.elements_into(&mut self.buffers[number])?;
            self.spread(number, cells);
        }
        Ok(())
    }

    /// Fills a side's message.
    fn collect(&mut self, number: usize, cells: &[Cell]) {
        let mut free = self.buffers[number].as_mut_slice();
        for cell in self.cells[number].iter().map(|cell| &cells[*cell]) {
            let [across, rows, layers] = Side::ALL[number].points(cell, true);
            for (k, j) in layers.flat_map(|k| rows.clone().map(move |j| (k, j))) {
                for values in cell.flow.row(j, k).chunks_exact(cell.flow.width()) {
                    let (room, rest) = free.split_at_mut(across.len());
                    room.copy_from_slice(&values[across.clone()]);
                    free = rest;
                }
            }
        }
    }

    /// Empties a side's message into the neighbours' points around each cell.
    fn spread(&mut self, number: usize, cells: &mut [Cell]) {
        let mut rest = self.buffers[number].as_slice();
        for cell in &self.cells[number] {
            let cell = &mut cells[*cell];
            let [across, rows, layers] = Side::ALL[number].points(cell, false);
            let width = cell.flow.width();
            for (k, j) in layers.flat_map(|k| rows.clone().map(move |j| (k, j))) {
                for values in cell.flow.row_mut(j, k).chunks_exact_mut(width) {
                    let (came, left) = rest.split_at(across.len());
                    values[across.clone()].copy_from_slice(came);
                    rest = left;
                }
            }
        }
    }
}
