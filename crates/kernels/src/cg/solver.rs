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

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_comm::listen;
    use crosstalk_core::message::Part;
    use crosstalk_core::units::Seconds;
    use crosstalk_core::value::Params;
    use std::net::{IpAddr, Ipv4Addr};
    use std::sync::atomic::AtomicBool;

    /// Does something with a rank that is alone.
    fn alone<R>(work: impl FnOnce(&mut Rank) -> R) -> R {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let listener = listen(here).expect("listens");
        let part = Part {
            workload: "test".into(),
            params: Params::default(),
            node: 0,
            nodes: 1,
            addresses: vec![here],
            emulation: None,
            deadline: Seconds(60.0),
            shared: None,
            keep_schedule: false,
            scratch: std::env::temp_dir(),
            artifacts: None,
            seed: 1,
        };
        let endpoints = [Some(listener.endpoint())];
        let never = AtomicBool::new(false);
        let mut rank = listener.connect(&part, &endpoints, &never).expect("connects");
        let result = work(&mut rank);
        rank.finish().expect("ends");
        result
    }

    #[test]
    fn a_diagonal_system_is_solved_and_its_solution_has_length_one() {
        let diagonal: Vec<f64> = (0..40).map(|row| 1.0 + f64::from(row) / 40.0).collect();
        let mut matrix = Matrix::new(40);
        diagonal.iter().enumerate().for_each(|(row, value)| matrix.push_row(&[(row, *value)]));
        let mut solver = Solver::new(Grid::new(40, 0, 1), matrix);
        let (product, residual) = alone(|rank| solver.iterate(rank)).expect("solves");
        let expected: f64 = diagonal.iter().map(|value| 1.0 / value).sum();
        assert!((product - expected).abs() < 1e-12 && residual < 1e-13, "{product} {residual}");
        let length = diagonal.iter().map(|value| value.powi(-2)).sum::<f64>().sqrt();
        let errors = solver.x.iter().zip(&diagonal).map(|(x, value)| (x - 1.0 / (value * length)).abs());
        assert!(errors.fold(0.0, f64::max) < 1e-14);
    }
}
