//! The loop over panels, which looks one ahead.

use crosstalk_comm::{Envelope, Rank, Request};
use crosstalk_core::Fault;

use super::dense::{Block, InvertedLower, subtract_product};
use super::exchange::Moves;
use super::grid::Grid;
use super::matrix::Matrix;
use super::panel::{self, Panel};

/// The tag of panels on their route.
const PANEL: u32 = 3;
/// Entries that are updated at a time: what is exchanged in them is still in the last-level cache, of 8 MB or more, when
/// the product is subtracted.
const CACHED: usize = 1 << 20;
/// Columns that are updated at a time at least: L is read again for each time.
const COLUMNS: usize = 256;

/// Factors the matrix. U is in its upper triangle then, and the right-hand side is multiplied by L's inverse.
pub(super) fn factor(matrix: &mut Matrix, grid: &Grid, rank: &mut Rank) -> Result<(), Fault> {
    let (order, block) = (matrix.order, grid.columns.block);
    let width = |first: usize| block.min(order - first);
    let mut requests = Vec::new();
    let mut current = match owns(grid, 0) {
        true => {
            let panel = panel::factor(matrix, grid, 0, width(0), rank)?;
            send(&panel, grid, 0, &mut requests, rank)?;
            panel
        }
        false => receive(grid, 0, width(0), &mut requests, rank)?,
    };
    for first in (0..order).step_by(block) {
        let next = first + block;
        let moves = Moves::new(&current);
        let lower = InvertedLower::new(current.width, Block { data: current.top(), ld: current.width });
        let begin = grid.columns.below(current.first + current.width);
        let mut ahead = None;
        if next < order && owns(grid, next) {
            let end = begin + width(next);
            update(matrix, grid, &current, (&moves, &lower), (begin, end), rank)?;
            let panel = panel::factor(matrix, grid, next, width(next), rank)?;
            send(&panel, grid, next, &mut requests, rank)?;
            update(matrix, grid, &current, (&moves, &lower), (end, matrix.columns), rank)?;
            ahead = Some(panel);
        } else {
            let columns = matrix.columns;
            update(matrix, grid, &current, (&moves, &lower), (begin, columns), rank)?;
            if next < order {
                ahead = Some(receive(grid, next, width(next), &mut requests, rank)?);
            }
        }
        match ahead {
            Some(panel) => current = panel,
            None => break,
        }
    }
    rank.wait_all(requests)?;
    Ok(())
}

/// Whether this rank's column of the grid has the panel that begins at column `first`.
fn owns(grid: &Grid, first: usize) -> bool {
    grid.columns.owner(first) == grid.columns.own
}

/// Exchanges rows in a rank's columns from `from` to `to`, and subtracts the panel's product.
fn update(
    matrix: &mut Matrix,
    grid: &Grid,
    panel: &Panel,
    (moves, lower): (&Moves, &InvertedLower),
    (from, to): (usize, usize),
    rank: &mut Rank,
) -> Result<(), Fault> {
    let exchange = moves.exchange(matrix, grid, (from, to), rank)?;
    let (width, rows) = (panel.width, matrix.rows);
    let has_top = grid.rows.owner(panel.first) == grid.rows.own;
    let begin = grid.rows.below(panel.first);
    let below = if has_top { begin + width } else { begin };
    let most = (CACHED / (rows - begin).max(1)).max(COLUMNS).min(to - from);
    let mut top = vec![0.0; width * most];
    for from in (from..to).step_by(most.max(1)) {
        let columns = most.min(to - from);
        // Panels go from rank to rank meanwhile.
        rank.progress()?;
        let top = &mut top[..width * columns];
        exchange.carry_out(matrix, (from, from + columns), top, width);
        lower.solve(columns, top, width);
        if has_top {
            let into = matrix.columns_mut(from, from + columns);
            into.zip(top.chunks(width)).for_each(|(column, top)| column[begin..below].copy_from_slice(top));
        }
        if below < rows {
            let l = Block { data: panel.below(), ld: rows - below };
            let u = Block { data: top, ld: width };
            let shape = [rows - below, width, columns];
            subtract_product(shape, l, u, &mut matrix.data[from * rows + below..], rows);
        }
    }
    Ok(())
}

/// Begins to send a panel to the next rank of the row, unless that has factored it.
fn send(
    panel: &Panel,
    grid: &Grid,
    first: usize,
    requests: &mut Vec<Request>,
    rank: &mut Rank,
) -> Result<(), Fault> {
    let next = (grid.columns.own + 1) % grid.columns.of;
    if next == grid.columns.owner(first) {
        return Ok(());
    }
    // What was sent before has to be gone by now: its data are kept until then.
    rank.wait_all(std::mem::take(requests))?;
    requests.push(rank.within(&grid.row).isend(next, PANEL, &panel.numbers)?);
    Ok(())
}

/// Receives a panel from the rank before in the row, and sends it on.
fn receive(
    grid: &Grid,
    first: usize,
    width: usize,
    requests: &mut Vec<Request>,
    rank: &mut Rank,
) -> Result<Panel, Fault> {
    let before = (grid.columns.own + grid.columns.of - 1) % grid.columns.of;
    let request = rank.within(&grid.row).irecv(Envelope::exact(before, PANEL))?;
    let message = rank.wait(request)?.message();
    let message = message.ok_or_else(|| Fault::attempt("a panel has not come"))?.elements::<f64>()?;
    let panel = Panel { first, width, numbers: message };
    send(&panel, grid, first, requests, rank)?;
    Ok(panel)
}
