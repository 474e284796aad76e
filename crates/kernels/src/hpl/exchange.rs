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
        for (at, pivot) in panel.pivots().enumerate() {
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

    /// What `from` sends to `to`.
    fn between(&self, rows: &Dealt, from: usize, to: usize) -> Route {
        let mut into_top: Vec<usize> =
            (0..self.into_top.len()).filter(|at| rows.owner(self.into_top[*at]) == from).collect();
        // In the order in which they are in memory.
        into_top.sort_unstable_by_key(|at| self.into_top[*at]);
        let displaced: Vec<(usize, usize)> = self
            .displaced
            .iter()
            .filter(|(there, here)| rows.owner(*here) == from && rows.owner(*there) == to)
            .copied()
            .collect();
        let of_top = into_top.iter().map(|at| self.into_top[*at]);
        let sent = of_top.chain(displaced.iter().map(|(_, here)| *here)).map(|row| rows.local(row));
        Route {
            sent: sent.collect(),
            into_top,
            into_rows: displaced.iter().map(|(there, _)| rows.local(*there)).collect(),
        }
    }

    /// Sends and receives rows, in the rank's columns from `from` to `to`. The ranks of a column of the grid call it
    /// together. What follows is [`Exchange::carry_out`].
    pub(super) fn exchange(
        &self,
        matrix: &Matrix,
        grid: &Grid,
        (from, to): (usize, usize),
        rank: &mut Rank,
    ) -> Result<Exchange, Fault> {
        let rows = grid.rows;
        let own = self.between(&rows, rows.own, rows.own);
        let mut exchange = Exchange { own, received: Vec::new(), first: from };
        if from == to {
            return Ok(exchange);
        }
        let others = || (0..rows.of).filter(|other| *other != rows.own);
        let senders = others().map(|other| (other, self.between(&rows, other, rows.own)));
        // Only those between whom a row moves.
        let senders: Vec<(usize, Route)> = senders.filter(|(_, route)| !route.sent.is_empty()).collect();
        let mut requests = Vec::new();
        for (sender, _) in &senders {
            requests.push(rank.within(&grid.column).irecv(Envelope::exact(*sender, ROWS))?);
        }
        for receiver in others() {
            let route = self.between(&rows, rows.own, receiver);
            if !route.sent.is_empty() {
                let mut message = Vec::with_capacity(route.sent.len() * (to - from));
                matrix.columns(from, to).for_each(|column| route.pack(column, &mut message));
                requests.push(rank.within(&grid.column).isend(receiver, ROWS, &message)?);
            }
        }
        for ((_, route), message) in senders.into_iter().zip(rank.wait_all(requests)?) {
            let message = message.message().ok_or_else(|| Fault::attempt("rows have not come"))?;
            exchange.received.push((route, message.elements::<f64>()?));
        }
        Ok(exchange)
    }
}

/// Rows that go from one rank to another.
struct Route {
    /// Their numbers at the sender, in the order in which they are sent.
    sent: Vec<usize>,
    /// Where the first of them come in the square. These go to all ranks.
    into_top: Vec<usize>,
    /// Where the others come: numbers at the receiver.
    into_rows: Vec<usize>,
}

impl Route {
    fn pack(&self, column: &[f64], message: &mut Vec<f64>) {
        message.extend(self.sent.iter().map(|row| column[*row]));
    }

    fn unpack(&self, message: &[f64], column: &mut [f64], top: &mut [f64]) {
        let (for_top, for_rows) = message.split_at(self.into_top.len());
        self.into_top.iter().zip(for_top).for_each(|(at, entry)| top[*at] = *entry);
        self.into_rows.iter().zip(for_rows).for_each(|(row, entry)| column[*row] = *entry);
    }
}

/// Rows that have come from other ranks, and those that stay on this one.
pub(super) struct Exchange {
    own: Route,
    received: Vec<(Route, Vec<f64>)>,
    /// The rank's first column of the exchange.
    first: usize,
}

impl Exchange {
    /// Carries it out in the rank's columns from `from` to `to`, once in each. `top` becomes the rows of the square
    /// there, of which there are `width`: all ranks of a column of the grid have them then.
    pub(super) fn carry_out(
        &self,
        matrix: &mut Matrix,
        (from, to): (usize, usize),
        top: &mut [f64],
        width: usize,
    ) {
        let mut stay = Vec::with_capacity(self.own.sent.len());
        for ((index, column), top) in (from..).zip(matrix.columns_mut(from, to)).zip(top.chunks_mut(width)) {
            stay.clear();
            self.own.pack(column, &mut stay);
            self.own.unpack(&stay, column, top);
            for (route, message) in &self.received {
                let message = &message[(index - self.first) * route.sent.len()..][..route.sent.len()];
                route.unpack(message, column, top);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_exchanges_one_after_the_other() {
        let panel = Panel { first: 2, width: 3, numbers: vec![7.0, 4.0, 7.0] };
        let moves = Moves::new(&panel);
        let mut rows: Vec<usize> = (0..10).collect();
        [(2, 7), (3, 4), (4, 7)].into_iter().for_each(|(one, other)| rows.swap(one, other));
        assert_eq!(moves.into_top, rows[2..5]);
        assert_eq!(moves.displaced, [(7, rows[7])]);
    }
}
