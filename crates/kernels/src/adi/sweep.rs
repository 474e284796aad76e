//! Sweeps along a direction (NAS-95-020, section 3): the elimination runs through the layers of cells, and the
//! substitution back through them. From one cell to the next, what all lines have at their end goes in one message.

use crosstalk_comm::{Rank, Request};
use crosstalk_core::Fault;
use crosstalk_host::vector::{VectorKernel, run_widest};

use super::cell::Cell;
use super::field::{PACK, Pack};
use super::lines::{Lines, across, packs_of_lines};
use super::partition::Partition;
use crate::flow::VALUES;

/// What the elimination leaves at a point, of a pack of lines: the right-hand side, then coefficients. The substitution
/// puts the solution where the right-hand side was.
pub(crate) type Point<const V: usize> = [Pack; V];

/// How the systems along lines are solved. An equation has `D` neighbours on each side, and the elimination leaves `V`
/// numbers at a point. Zeros mean that there is no point.
///
/// Both run with the widest vector instructions, and have to be `#[inline(always)]`.
pub(crate) trait Solver<const V: usize, const D: usize> {
    /// For how many lines a message has room: neighbours in a pack's direction, and those in the other one.
    fn room(&self, cell: &Cell, direction: usize) -> (usize, usize);

    /// Eliminates along lines. The first `D` points are those of the cell before; the last `D` are left alone.
    fn eliminate(&mut self, cell: &Cell, lines: Lines, points: &mut [Point<V>]);

    /// Substitutes back along lines, and stores the solution in the cell. The last `D` points have that of the cell after.
    fn substitute(&mut self, cell: &mut Cell, lines: Lines, points: &mut [Point<V>]);
}

/// [`Solver::eliminate`], for the widest vector instructions.
struct Eliminate<'a, S, const V: usize, const D: usize> {
    solver: &'a mut S,
    cell: &'a Cell,
    lines: Lines,
    points: &'a mut [Point<V>],
}

impl<S: Solver<V, D>, const V: usize, const D: usize> VectorKernel for Eliminate<'_, S, V, D> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.solver.eliminate(self.cell, self.lines, self.points);
    }
}

/// [`Solver::substitute`], for the widest vector instructions.
struct Substitute<'a, S, const V: usize, const D: usize> {
    solver: &'a mut S,
    cell: &'a mut Cell,
    lines: Lines,
    points: &'a mut [Point<V>],
}

impl<S: Solver<V, D>, const V: usize, const D: usize> VectorKernel for Substitute<'_, S, V, D> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        self.solver.substitute(self.cell, self.lines, self.points);
    }
}

/// Tags: this one and the direction for what goes on, and three more for what comes back.
const TAG: u32 = 200;

/// Room for sweeps.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweeper<const V: usize, const D: usize> {
    /// For each layer but the last, what the elimination has left of all its lines.
    kept: Vec<Vec<Point<V>>>,
    /// The same of one pack of lines in the last layer: there, the substitution follows at once.
    points: Vec<Point<V>>,
    inbox: Vec<f64>,
    outbox: Vec<f64>,
}

/// Where lines are in a message, which has the first number of all lines, then the second, and so on.
#[derive(Debug, Clone, Copy)]
struct Slots {
    /// All that a message has room for.
    lines: usize,
    /// Those with the same outer coordinate.
    pitch: usize,
}

impl Slots {
    fn new((pitch, rows): (usize, usize)) -> Self {
        Slots { lines: pitch * rows, pitch }
    }

    /// The slot of the first of a cell's lines.
    fn first(&self, cell: &Cell, lines: &Lines) -> usize {
        let (inner, outer) = across(lines.direction);
        (lines.outer - cell.interior[outer].start) * self.pitch + lines.inner - cell.interior[inner].start
    }

    /// Fills a part of a message: of each of these points the first `values` numbers.
    fn put<const V: usize>(
        &self,
        first: usize,
        count: usize,
        points: &[Point<V>],
        values: usize,
        message: &mut [f64],
    ) {
        let numbers = points.iter().flat_map(|point| &point[..values]);
        for (number, room) in numbers.zip(message.chunks_exact_mut(self.lines)) {
            room[first..first + count].copy_from_slice(&number[..count]);
        }
    }

    /// Takes them out of a message.
    fn take<const V: usize>(
        &self,
        first: usize,
        count: usize,
        points: &mut [Point<V>],
        values: usize,
        message: &[f64],
    ) {
        let numbers = points.iter_mut().flat_map(|point| &mut point[..values]);
        for (number, came) in numbers.zip(message.chunks_exact(self.lines)) {
            *number = [0.0; PACK];
            number[..count].copy_from_slice(&came[first..first + count]);
        }
    }
}

impl<const V: usize, const D: usize> Sweeper<V, D> {
    /// Solves all lines in a direction.
    ///
    /// # Errors
    /// If other ranks are gone.
    pub(crate) fn sweep(
        &mut self,
        solver: &mut impl Solver<V, D>,
        rank: &mut Rank,
        partition: &Partition,
        cells: &mut [Cell],
        direction: usize,
    ) -> Result<(), Fault> {
        let last = partition.layers - 1;
        let (before, after) = (partition.before[direction], partition.after[direction]);
        let (onwards, back) = (TAG + direction as u32, TAG + 3 + direction as u32);
        self.kept.resize(last, Vec::new());
        let mut sent = None;
        for layer in 0..last {
            let cell = &mut cells[partition.cell_in(direction, layer)];
            if layer > 0 {
                self.receive(rank, before, onwards, D * V * lines_of(solver, cell, direction))?;
            }
            self.eliminate(solver, cell, direction, layer);
            self.send(rank, after, onwards, &mut sent)?;
        }
        let cell = &mut cells[partition.cell_in(direction, last)];
        if last > 0 {
            self.receive(rank, before, onwards, D * V * lines_of(solver, cell, direction))?;
        }
        self.solve_last(solver, cell, direction, last > 0);
        for layer in (0..last).rev() {
            self.send(rank, before, back, &mut sent)?;
            let cell = &mut cells[partition.cell_in(direction, layer)];
            self.receive(rank, after, back, D * VALUES * lines_of(solver, cell, direction))?;
            self.substitute(solver, cell, direction, layer);
        }
        sent.map_or(Ok(()), |request| rank.wait(request).map(drop))
    }

    /// The elimination in a layer but the last.
    fn eliminate(&mut self, solver: &mut impl Solver<V, D>, cell: &Cell, direction: usize, layer: usize) {
        let slots = Slots::new(solver.room(cell, direction));
        let length = cell.interior[direction].len() + 2 * D;
        let all = &mut self.kept[layer];
        all.resize(packs_of_lines(cell, direction).count() * length, [[0.0; PACK]; V]);
        self.outbox.resize(D * V * slots.lines, 0.0);
        for (lines, points) in packs_of_lines(cell, direction).zip(all.chunks_exact_mut(length)) {
            let first = slots.first(cell, &lines);
            points[..D].fill([[0.0; PACK]; V]);
            if layer > 0 {
                slots.take(first, lines.count, &mut points[..D], V, &self.inbox);
            }
            run_widest(Eliminate { solver, cell, lines, points });
            let end = &points[length - 2 * D..length - D];
            slots.put(first, lines.count, end, V, &mut self.outbox);
        }
    }

    /// The last layer: the substitution follows the elimination. `others`: there are more layers.
    fn solve_last(
        &mut self,
        solver: &mut impl Solver<V, D>,
        cell: &mut Cell,
        direction: usize,
        others: bool,
    ) {
        let slots = Slots::new(solver.room(cell, direction));
        self.points.resize(cell.interior[direction].len() + 2 * D, [[0.0; PACK]; V]);
        let points = self.points.as_mut_slice();
        if others {
            self.outbox.resize(D * VALUES * slots.lines, 0.0);
        }
        for lines in packs_of_lines(cell, direction) {
            let first = slots.first(cell, &lines);
            points[..D].fill([[0.0; PACK]; V]);
            if others {
                slots.take(first, lines.count, &mut points[..D], V, &self.inbox);
            }
            run_widest(Eliminate { solver, cell, lines, points });
            let end = points.len() - D;
            points[end..].fill([[0.0; PACK]; V]);
            run_widest(Substitute { solver, cell, lines, points });
            if others {
                slots.put(first, lines.count, &points[D..2 * D], VALUES, &mut self.outbox);
            }
        }
    }

    /// The substitution in a layer but the last.
    fn substitute(
        &mut self,
        solver: &mut impl Solver<V, D>,
        cell: &mut Cell,
        direction: usize,
        layer: usize,
    ) {
        let slots = Slots::new(solver.room(cell, direction));
        let length = cell.interior[direction].len() + 2 * D;
        self.outbox.resize(D * VALUES * slots.lines, 0.0);
        for (lines, points) in packs_of_lines(cell, direction).zip(self.kept[layer].chunks_exact_mut(length))
        {
            let first = slots.first(cell, &lines);
            slots.take(first, lines.count, &mut points[length - D..], VALUES, &self.inbox);
            run_widest(Substitute { solver, cell, lines, points });
            slots.put(first, lines.count, &points[D..2 * D], VALUES, &mut self.outbox);
        }
    }

    fn send(&self, rank: &mut Rank, to: usize, tag: u32, sent: &mut Option<Request>) -> Result<(), Fault> {
        if let Some(request) = sent.take() {
            rank.wait(request)?;
        }
        *sent = Some(rank.world().isend(to, tag, &self.outbox)?);
        Ok(())
    }

    fn receive(&mut self, rank: &mut Rank, from: usize, tag: u32, length: usize) -> Result<(), Fault> {
        self.inbox.resize(length, 0.0);
        rank.world().recv_into(from, tag, &mut self.inbox)
    }
}

/// How many lines a message has room for.
fn lines_of<const V: usize, const D: usize>(
    solver: &impl Solver<V, D>,
    cell: &Cell,
    direction: usize,
) -> usize {
    Slots::new(solver.room(cell, direction)).lines
}
