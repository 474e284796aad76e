//! Fourier transforms of eight lines at once, one a lane: Stockham's self-sorting algorithm with four parts a pass
//! (Van Loan, "Computational Frameworks for the Fast Fourier Transform", SIAM 1992, section 1.7). Neither direction
//! scales.

use std::f64::consts::TAU;

/// Lines that are transformed together.
pub(super) const LANES: usize = 8;

/// A point of each line.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    pub(super) re: [f64; LANES],
    pub(super) im: [f64; LANES],
}

/// A complex factor.
type Root = [f64; 2];

/// What transforms of a length need: the roots of one, by angle.
#[derive(Debug)]
pub(super) struct Plan {
    roots: Vec<Root>,
}

impl Plan {
    /// For lines of so many points, a power of two.
    pub(super) fn new(points: usize) -> Self {
        let root = |at: usize| {
            let (sin, cos) = (TAU * at as f64 / points as f64).sin_cos();
            [cos, sin]
        };
        Plan { roots: (0..points).map(root).collect() }
    }

    pub(super) fn points(&self) -> usize {
        self.roots.len()
    }

    /// After how many passes, each from one of two to the other, a line is transformed.
    pub(super) fn passes(&self) -> usize {
        self.points().trailing_zeros().div_ceil(2) as usize
    }

    /// Transforms what is in the first of both, and returns the one that has the result. `FORWARD` is the direction
    /// of e^(+2πi jk/n), as in the report.
    #[inline(always)]
    pub(super) fn transform<'a, const FORWARD: bool>(&self, both: [&'a mut [Cell]; 2]) -> &'a mut [Cell] {
        let [mut from, mut to] = both.map(|cells| &mut cells[..self.points()]);
        let mut done = 1;
        while done < self.points() {
            let left = self.points() / done;
            if left == 2 {
                halves(from, to);
                done *= 2;
            } else {
                self.quarters::<FORWARD>(from, to, done);
                done *= 4;
            }
            (from, to) = (to, from);
        }
        from
    }

    /// The root of this angle and direction.
    #[inline(always)]
    fn root<const FORWARD: bool>(&self, at: usize) -> Root {
        let [re, im] = self.roots[at];
        if FORWARD { [re, im] } else { [re, -im] }
    }

    /// A pass over parts of `done` points that are transformed already.
    #[inline(always)]
    fn quarters<const FORWARD: bool>(&self, from: &[Cell], to: &mut [Cell], done: usize) {
        let quarter = self.points() / 4;
        let (x0, x1) = from.split_at(quarter);
        let (x1, x2) = x1.split_at(quarter);
        let (x2, x3) = x2.split_at(quarter);
        let parts = x0.chunks_exact(done).zip(x1.chunks_exact(done));
        let parts = parts.zip(x2.chunks_exact(done).zip(x3.chunks_exact(done)));
        for (at, (out, ((x0, x1), (x2, x3)))) in to.chunks_exact_mut(4 * done).zip(parts).enumerate() {
            let roots = [1, 2, 3].map(|times| self.root::<FORWARD>(times * at * done));
            let (y0, y1) = out.split_at_mut(done);
            let (y1, y2) = y1.split_at_mut(done);
            let (y2, y3) = y2.split_at_mut(done);
            for point in 0..done {
                butterfly::<FORWARD>(
                    &x0[point],
                    &x1[point],
                    &x2[point],
                    &x3[point],
                    &mut y0[point],
                    &mut y1[point],
                    &mut y2[point],
                    &mut y3[point],
                    roots,
                );
            }
        }
    }
}

/// Transforms four points, and rotates three of the results. Each is an argument of its own: so the compiler knows
/// that they are apart, and uses vectors.
#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "see above")]
fn butterfly<const FORWARD: bool>(
    x0: &Cell,
    x1: &Cell,
    x2: &Cell,
    x3: &Cell,
    y0: &mut Cell,
    y1: &mut Cell,
    y2: &mut Cell,
    y3: &mut Cell,
    [r1, r2, r3]: [Root; 3],
) {
    for lane in 0..LANES {
        let [x0, x1, x2, x3] = [x0, x1, x2, x3].map(|x| [x.re[lane], x.im[lane]]);
        let (even, even_less) = (add(x0, x2), subtract(x0, x2));
        let (odd, odd_less) = (add(x1, x3), subtract(x1, x3));
        // The odd difference times i, or times −i.
        let rotated = if FORWARD { [-odd_less[1], odd_less[0]] } else { [odd_less[1], -odd_less[0]] };
        [y0.re[lane], y0.im[lane]] = add(even, odd);
        [y1.re[lane], y1.im[lane]] = multiply(r1, add(even_less, rotated));
        [y2.re[lane], y2.im[lane]] = multiply(r2, subtract(even, odd));
        [y3.re[lane], y3.im[lane]] = multiply(r3, subtract(even_less, rotated));
    }
}

/// The last pass of lengths that are no power of four.
#[inline(always)]
fn halves(from: &[Cell], to: &mut [Cell]) {
    let half = from.len() / 2;
    let (low, high) = to.split_at_mut(half);
    let pairs = from[..half].iter().zip(&from[half..]);
    for ((x0, x1), (y0, y1)) in pairs.zip(low.iter_mut().zip(high)) {
        for lane in 0..LANES {
            (y0.re[lane], y1.re[lane]) = (x0.re[lane] + x1.re[lane], x0.re[lane] - x1.re[lane]);
            (y0.im[lane], y1.im[lane]) = (x0.im[lane] + x1.im[lane], x0.im[lane] - x1.im[lane]);
        }
    }
}

#[inline(always)]
fn add(a: Root, b: Root) -> Root {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn subtract(a: Root, b: Root) -> Root {
    [a[0] - b[0], a[1] - b[1]]
}

#[inline(always)]
fn multiply(a: Root, b: Root) -> Root {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transformed<const FORWARD: bool>(mut cells: Vec<Cell>) -> Vec<Cell> {
        let mut other = cells.clone();
        Plan::new(cells.len()).transform::<FORWARD>([&mut cells, &mut other]).to_vec()
    }

    #[test]
    fn a_wave_becomes_one_point() {
        for points in [2, 4, 8, 32, 64, 128, 512] {
            // Each lane has a wave of its own, of −lane periods.
            let wave = |at: usize| {
                let mut cell = Cell::default();
                for lane in 0..LANES {
                    let angle = TAU * (at * lane) as f64 / points as f64;
                    (cell.re[lane], cell.im[lane]) = (angle.cos(), -angle.sin());
                }
                cell
            };
            let found = transformed::<true>((0..points).map(wave).collect());
            for (at, cell) in found.iter().enumerate() {
                for lane in 0..LANES {
                    let expected = if at == lane % points { points as f64 } else { 0.0 };
                    assert!((cell.re[lane] - expected).abs() < 1e-11, "{points} {at} {lane}: {cell:?}");
                    assert!(cell.im[lane].abs() < 1e-11, "{points} {at} {lane}: {cell:?}");
                }
            }
        }
    }

    #[test]
    fn there_and_back_multiplies_by_the_length() {
        let cell = |at: usize| Cell { re: [at as f64; LANES], im: [(at * at % 7) as f64; LANES] };
        let cells: Vec<Cell> = (0..32).map(cell).collect();
        for (found, expected) in transformed::<false>(transformed::<true>(cells.clone())).iter().zip(&cells) {
            assert!((found.re[3] - 32.0 * expected.re[3]).abs() < 1e-11);
            assert!((found.im[3] - 32.0 * expected.im[3]).abs() < 1e-11);
        }
    }
}
