//! The conjugate gradient method (RNR-94-007, section 2.2.3) on a rank's part.

use crosstalk_comm::Rank;
use crosstalk_core::Fault;

use super::grid::Grid;
use super::matrix::Matrix;
use super::vector::{add_scaled, distance_squared, dot, scale_and_add, scale_into};

/// Steps of the method, whatever the residual is.
const STEPS: usize = 25;
/// The tag of a piece that goes across the diagonal.
const ACROSS: u32 = 1;

/// A rank's part of A·z = x, and of what it takes to solve that.
pub(super) struct Solver {
    grid: Grid,
    matrix: Matrix,
    x: Vec<f64>,
    /// The solution; with whole blocks, as it is multiplied.
    z: Vec<f64>,
    /// The residual.
    r: Vec<f64>,
    /// The direction; with whole blocks, as it is multiplied.
    p: Vec<f64>,
    /// A·p, and later A·z.
    q: Vec<f64>,
    rows: Rows,
}

/// A product by rows of the matrix, before it is one by columns.
struct Rows {
    own: Vec<f64>,
    received: Vec<f64>,
}

impl Solver {
    /// With x = 1.
    pub(super) fn new(grid: Grid, matrix: Matrix) -> Self {
        let elements = grid.columns.len();
        let rows = Rows { own: vec![0.0; grid.rows.len()], received: vec![0.0; grid.piece.len()] };
        let [z, p] = [matrix.vector(), matrix.vector()];
        let [r, q] = [vec![0.0; elements], vec![0.0; elements]];
        Solver { x: vec![1.0; elements], z, r, p, q, rows, grid, matrix }
    }

    /// Begins again with x = 1.
    pub(super) fn restart(&mut self) {
        self.x.fill(1.0);
    }

    /// A step of the inverse power method: solves A·z = x, and makes x the solution divided by its length. Returns x·z and
    /// the length of the residual.
    pub(super) fn iterate(&mut self, rank: &mut Rank) -> Result<(f64, f64), Fault> {
        let residual = self.solve(rank)?;
        let z = &self.z[..self.x.len()];
        let [product, square] = add_up(&self.grid, rank, [dot(&self.x, z), dot(z, z)])?;
        scale_into(&mut self.x, 1.0 / square.sqrt(), z);
        Ok((product, residual))
    }

    /// Solves A·z = x. Returns |x - A·z|.
    fn solve(&mut self, rank: &mut Rank) -> Result<f64, Fault> {
        let Solver { grid, matrix, x, z, r, p, q, rows } = self;
        let own = ..x.len();
        z[own].fill(0.0);
        r.copy_from_slice(x);
        p[own].copy_from_slice(r);
        let [mut rho] = add_up(grid, rank, [dot(r, r)])?;
        for _ in 0..STEPS {
            multiply(grid, matrix, &p[..], rows, q, rank)?;
            let [curvature] = add_up(grid, rank, [dot(&p[own], q)])?;
            let alpha = rho / curvature;
            add_scaled(&mut z[own], alpha, &p[own]);
            add_scaled(r, -alpha, q);
            let before = rho;
            [rho] = add_up(grid, rank, [dot(r, r)])?;
            scale_and_add(&mut p[own], rho / before, r);
        }
        multiply(grid, matrix, &z[..], rows, q, rank)?;
        let [square] = add_up(grid, rank, [distance_squared(x, q)])?;
        Ok(square.sqrt())
    }
}

/// Adds up numbers along a row of ranks, which has all parts of a vector.
fn add_up<const N: usize>(grid: &Grid, rank: &mut Rank, mut sums: [f64; N]) -> Result<[f64; N], Fault> {
    for exchange in grid.exchanges.iter().rev() {
        let mut theirs = [0.0; N];
        rank.world().sendrecv(exchange.partner, &sums, exchange.partner, &mut theirs, exchange.tag)?;
        sums.iter_mut().zip(theirs).for_each(|(sum, theirs)| *sum += theirs);
    }
    Ok(sums)
}

/// Writes the product of the matrix and `vector` to `product`, of all ranks together.
fn multiply(
    grid: &Grid,
    matrix: &Matrix,
    vector: &[f64],
    rows: &mut Rows,
    product: &mut [f64],
    rank: &mut Rank,
) -> Result<(), Fault> {
    let Some(across) = grid.across else {
        matrix.multiply(vector, product);
        return Ok(());
    };
    matrix.multiply(vector, &mut rows.own);
    for exchange in &grid.exchanges {
        let sent = &rows.own[exchange.sent.clone()];
        rank.world().sendrecv(exchange.partner, sent, exchange.partner, &mut rows.received, exchange.tag)?;
        add_scaled(&mut rows.own[grid.piece.clone()], 1.0, &rows.received);
    }
    rank.world().sendrecv(across, &rows.own[grid.piece.clone()], across, product, ACROSS)
}
