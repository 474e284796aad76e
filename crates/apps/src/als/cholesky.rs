//! Solves small symmetric positive definite systems, several at once: lane `l`
//! of every number belongs to system `l`, so that each step is one vector
//! instruction for all of them.
//!
//! Products and sums are not fused, so that the answer does not depend on the
//! processor.

/// The number of systems that are solved together: as many doubles as the widest vector has.
pub const LANES: usize = 8;

/// One number of each of the systems that are solved together.
pub type Lanes = [f64; LANES];

/// A pivot below this share of its diagonal element is rounding: the system is
/// singular.
const SINGULAR: f64 = 1e-13;

/// The index of element (i, j) of a lower triangle, j ≤ i.
#[inline(always)]
pub const fn triangle_index(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Lower triangles and right-hand sides of [`LANES`] systems.
pub struct LaneSystems {
    /// Unknowns of each.
    order: usize,
    /// The triangles, at [`triangle_index`].
    pub triangle: Vec<Lanes>,
    /// The right-hand sides; after [`LaneSystems::solve`] the solutions.
    pub right: Vec<Lanes>,
}

impl LaneSystems {
    /// Systems of `order` unknowns, with room for `room` ≥ `order`.
    pub fn new(order: usize, room: usize) -> Self {
        LaneSystems {
            order,
            triangle: vec![[0.0; LANES]; triangle_index(room, 0)],
            right: vec![[0.0; LANES]; room],
        }
    }

    /// Makes a lane's system a solvable one.
    pub fn fill_with_solvable(&mut self, lane: usize) {
        for i in 0..self.order {
            (0..i).for_each(|j| self.triangle[triangle_index(i, j)][lane] = 0.0);
            self.triangle[triangle_index(i, i)][lane] = 1.0;
            self.right[i][lane] = 0.0;
        }
    }

    /// Adds `number` to each element of the diagonal of one lane's system.
    #[inline(always)]
    pub fn add_to_diagonal(&mut self, lane: usize, number: f64) {
        for i in 0..self.order {
            self.triangle[triangle_index(i, i)][lane] += number;
        }
    }

    /// Solves all systems in place; returns which are singular.
    #[inline(always)]
    pub fn solve(&mut self) -> [bool; LANES] {
        let (n, a, x) = (self.order, &mut self.triangle[..], &mut self.right[..]);
        let mut singular = [false; LANES];
        for j in 0..n {
            let (row, below) = a[triangle_index(j, 0)..].split_at_mut(j + 1);
            let mut pivot = row[j];
            for element in &row[..j] {
                less(&mut pivot, element, element);
            }
            let mut inverse = [0.0; LANES];
            for l in 0..LANES {
                singular[l] |= pivot[l].is_nan() || pivot[l] <= SINGULAR * row[j][l];
                inverse[l] = 1.0 / pivot[l].sqrt();
            }
            row[j] = inverse;
            // Column j of all rows below.
            let mut begin = 0;
            for i in j + 1..n {
                let lower = &mut below[begin..begin + i + 1];
                let mut sum = lower[j];
                for (mine, other) in lower[..j].iter().zip(&row[..j]) {
                    less(&mut sum, mine, other);
                }
                lower[j] = times(&sum, &inverse);
                begin += i + 1;
            }
        }
        for i in 0..n {
            let row = &a[triangle_index(i, 0)..=triangle_index(i, i)];
            let mut sum = x[i];
            for (element, value) in row[..i].iter().zip(&x[..i]) {
                less(&mut sum, element, value);
            }
            x[i] = times(&sum, &row[i]);
        }
        for i in (0..n).rev() {
            let mut sum = x[i];
            for k in i + 1..n {
                less(&mut sum, &a[triangle_index(k, i)], &x[k]);
            }
            x[i] = times(&sum, &a[triangle_index(i, i)]);
        }
        singular
    }
}

/// `sum -= a · b`, lane by lane.
#[inline(always)]
fn less(sum: &mut Lanes, a: &Lanes, b: &Lanes) {
    for l in 0..LANES {
        sum[l] -= a[l] * b[l];
    }
}

/// `a · b`, lane by lane.
#[inline(always)]
fn times(a: &Lanes, b: &Lanes) -> Lanes {
    let mut product = *a;
    for l in 0..LANES {
        product[l] *= b[l];
    }
    product
}

#[cfg(test)]
mod tests;
