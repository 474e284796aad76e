//! Rows that are exchanged by a panel's pivots, in the columns beside it.

use std::collections::BTreeMap;

use crosstalk_comm::{Envelope, Rank};
use crosstalk_core::Fault;

use super::grid::{Dealt, Grid};
use super::matrix::Matrix;
use super::panel::Panel;

/// The tag of rows on their route.
const ROWS: u32 = 2;

/// Where rows go.
pub(super) struct Moves {
    /// By row of the panel's square: the row that comes there.
    into_top: Vec<usize>,
    /// Rows below the square: to, and from.
    displaced: Vec<(usize, usize)>,
}

impl Moves {
    /// The moves of all of a panel's exchanges, one after the other.
    pub(super) fn new(panel: &Panel) -> Self {
        let mut holds: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, &pivot) in panel.pivots.iter().enumerate() {
            let top = panel.first + at;
            let (in_top, in_pivot) = (*holds.get(&top).unwrap_or(&top), *holds.get(&pivot).unwrap_or(&pivot));
            holds.insert(top, in_pivot);
            holds.insert(pivot, in_top);
        }
        let end = panel.first + panel.width;
        let into_top = (panel.first..end).map(|row| *holds.get(&row).unwrap_or(&row)).collect();
        let displaced = holds.range(end..).filter(|(to, from)| to != from);
        Moves { into_top, displaced: displaced.map(|(to, from)| (*to, *from)).collect() }
    }

    /// The rows that `from` sends to `to`, in the order in which they are sent: those of the square go to all.
    fn between(&self, rows: &Dealt, from: usize, to: usize) -> (Vec<usize>, Vec<(usize, usize)>) {
        let top = (0..self.into_top.len()).filter(|at| rows.owner(self.into_top[*at]) == from);
        let displaced = self
            .displaced
            .iter()
            .filter(|(there, here)| rows.owner(*here) == from && rows.owner(*there) == to);
        (top.collect(), displaced.copied().collect())
    }

    /// Carries them out in the rank's columns from `from` to `to`. Returns the rows of the square, which all ranks of a
    /// column of the grid have then. They call it together.
    pub(super) fn carry_out(
        &self,
        matrix: &mut Matrix,
        grid: &Grid,
        (from, to): (usize, usize),
        rank: &mut Rank,
    ) -> Result<Vec<f64>, Fault> {
        let (rows, columns, width) = (grid.rows, to - from, self.into_top.len());
        if columns == 0 {
            return Ok(Vec::new());
        }
        // Only those between whom a row moves.
        let moves = |from: usize, to: usize| {
            let (top, displaced) = self.between(&rows, from, to);
            !top.is_empty() || !displaced.is_empty()
        };
        let others = || (0..rows.of).filter(|other| *other != rows.own);
        let senders: Vec<usize> = others().filter(|other| moves(*other, rows.own)).collect();
        let mut requests = Vec::new();
        for &sender in &senders {
            requests.push(rank.within(&grid.column).irecv(Envelope::exact(sender, ROWS))?);
        }
        for receiver in others().filter(|other| moves(rows.own, *other)) {
            let message = self.pack(matrix, &rows, receiver, (from, to));
            requests.push(rank.within(&grid.column).isend(receiver, ROWS, &message)?);
        }
        let mut top = vec![0.0; width * columns];
        let own = self.pack(matrix, &rows, rows.own, (from, to));
        self.unpack(matrix, &rows, rows.own, &own, &mut top, from);
        let done = rank.wait_all(requests)?;
        for (sender, message) in senders.iter().zip(done) {
            let message = message.message().ok_or_else(|| Fault::attempt("rows have not come"))?;
            self.unpack(matrix, &rows, *sender, &message.elements::<f64>()?, &mut top, from);
        }
        Ok(top)
    }

    /// What this rank sends to `other`: a row after the other.
    fn pack(&self, matrix: &Matrix, rows: &Dealt, other: usize, (from, to): (usize, usize)) -> Vec<f64> {
        let (top, displaced) = self.between(rows, rows.own, other);
        let all = top.iter().map(|at| self.into_top[*at]).chain(displaced.iter().map(|(_, from)| *from));
        let all: Vec<usize> = all.map(|row| rows.local(row)).collect();
        let mut message = vec![0.0; all.len() * (to - from)];
        // Column by column, as the matrix is.
        let columns = matrix.data[from * matrix.rows..].chunks(matrix.rows.max(1)).take(to - from);
        for (column, room) in columns.zip(message.chunks_mut(all.len().max(1))) {
            room.iter_mut().zip(&all).for_each(|(room, row)| *room = column[*row]);
        }
        message
    }

    /// Stores what `other` has sent.
    fn unpack(
        &self,
        matrix: &mut Matrix,
        rows: &Dealt,
        other: usize,
        message: &[f64],
        top: &mut [f64],
        from: usize,
    ) {
        let (into_top, displaced) = self.between(rows, other, rows.own);
        let displaced: Vec<usize> = displaced.iter().map(|(to, _)| rows.local(*to)).collect();
        let (width, count) = (self.into_top.len(), into_top.len() + displaced.len());
        let columns = matrix.data[from * matrix.rows..].chunks_mut(matrix.rows.max(1));
        let received = message.chunks(count.max(1));
        for ((column, received), top) in columns.zip(received).zip(top.chunks_mut(width)) {
            let (for_top, for_rows) = received.split_at(into_top.len());
            into_top.iter().zip(for_top).for_each(|(at, entry)| top[*at] = *entry);
            displaced.iter().zip(for_rows).for_each(|(row, entry)| column[*row] = *entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_exchanges_one_after_the_other() {
        let panel = Panel { first: 2, width: 3, pivots: vec![7, 4, 7], top: Vec::new(), below: Vec::new() };
        let moves = Moves::new(&panel);
        let mut rows: Vec<usize> = (0..10).collect();
        [(2, 7), (3, 4), (4, 7)].into_iter().for_each(|(one, other)| rows.swap(one, other));
        assert_eq!(moves.into_top, rows[2..5]);
        assert_eq!(moves.displaced, [(7, rows[7])]);
    }
}
