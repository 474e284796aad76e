//! The residual A and the smoother S (RNR-94-007, section 2.2, kernel MG). Each gives the 27 points of a cube four weights:
//! one for its centre, its 6 faces, its 12 edges and its 8 corners. So a row is first added up with its neighbours in y and
//! z, then along x.
//!
//! The operators of this kernel run with the widest vector instructions of the processor. They multiply and add in two
//! steps, so that all processors have the same results.

use crosstalk_host::vector::VectorKernel;

use super::grid::Grid;

/// Room for three rows.
#[derive(Debug)]
pub(super) struct Rows([Vec<f64>; 3]);

impl Rows {
    /// For rows of up to so many points.
    pub(super) fn new(points: usize) -> Self {
        Rows([0, 1, 2].map(|_| vec![0.0; points]))
    }

    #[inline(always)]
    pub(super) fn of(&mut self, points: usize) -> [&mut [f64]; 3] {
        let [a, b, c] = &mut self.0;
        [&mut a[..points], &mut b[..points], &mut c[..points]]
    }
}

/// Weights of a cube's centre, faces, edges and corners.
pub(super) type Weights = [f64; 4];

/// The weights of −A.
pub(super) const RESIDUAL: Weights = [8.0 / 3.0, 0.0, -1.0 / 6.0, -1.0 / 12.0];

/// Points of a plane in a block: three times 128 KiB are half of a common second-level cache.
const BLOCK: usize = 1 << 14;

/// Adds to each point of `out`, ghosts excepted, the weighted cube around it in `of`. If `base` is given, `out` becomes
/// the sum of that and the cubes instead.
pub(super) struct AddCubes<'a> {
    pub(super) weights: Weights,
    pub(super) of: &'a Grid,
    pub(super) base: Option<&'a Grid>,
    pub(super) out: &'a mut Grid,
    pub(super) rows: &'a mut Rows,
}

impl VectorKernel for AddCubes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let AddCubes { weights, of, base, out, rows } = self;
        let [nx, ny, nz] = of.extents;
        let [own, beside, _] = rows.of(nx);
        // In blocks of y: three planes of a block stay in the cache until the next planes need them.
        let block = (BLOCK / nx).max(1);
        for first in (1..ny - 1).step_by(block) {
            for z in 1..nz - 1 {
                for y in first..(first + block).min(ny - 1) {
                    weigh(of, [y, z], weights, own, beside);
                    match base {
                        Some(base) => add_along(base.row(y, z), own, beside, out.row_mut(y, z)),
                        None => add_along_in_place(own, beside, out.row_mut(y, z)),
                    }
                }
            }
        }
    }
}

/// The weighted sums around each point of a row, in y and z: what they add at their own x, and at those beside it.
#[inline(always)]
pub(super) fn weigh(
    grid: &Grid,
    [y, z]: [usize; 2],
    [centre, faces, edges, corners]: Weights,
    own: &mut [f64],
    beside: &mut [f64],
) {
    let points = own.len();
    let row = |y: usize, z: usize| &grid.row(y, z)[..points];
    let (middle, beside) = (row(y, z), &mut beside[..points]);
    let (n0, n1, n2, n3) = (row(y - 1, z), row(y + 1, z), row(y, z - 1), row(y, z + 1));
    let (f0, f1, f2, f3) = (row(y - 1, z - 1), row(y + 1, z - 1), row(y - 1, z + 1), row(y + 1, z + 1));
    for x in 0..points {
        let near = (n0[x] + n1[x]) + (n2[x] + n3[x]);
        let far = (f0[x] + f1[x]) + (f2[x] + f3[x]);
        own[x] = centre * middle[x] + faces * near + edges * far;
        beside[x] = faces * middle[x] + edges * near + corners * far;
    }
}

/// Adds the sums of a row up along x, and to `base`.
#[inline(always)]
fn add_along(base: &[f64], own: &[f64], beside: &[f64], out: &mut [f64]) {
    let points = out.len() - 2;
    let (base, own, out) = (&base[1..][..points], &own[1..][..points], &mut out[1..][..points]);
    let (before, after) = (&beside[..points], &beside[2..][..points]);
    for x in 0..points {
        out[x] = base[x] + (own[x] + (before[x] + after[x]));
    }
}

/// The same, with what `out` has as the base.
#[inline(always)]
fn add_along_in_place(own: &[f64], beside: &[f64], out: &mut [f64]) {
    let points = out.len() - 2;
    let (own, out) = (&own[1..][..points], &mut out[1..][..points]);
    let (before, after) = (&beside[..points], &beside[2..][..points]);
    for x in 0..points {
        out[x] += own[x] + (before[x] + after[x]);
    }
}

/// The sum of squares and the largest amount of all points that are no ghosts.
pub(super) fn norms(r: &Grid) -> [f64; 2] {
    const LANES: usize = 8;
    let [nx, ny, nz] = r.extents;
    let (mut squares, mut largest) = ([0.0; LANES], [0.0f64; LANES]);
    let mut add = |lane: usize, point: f64| {
        squares[lane] += point * point;
        largest[lane] = if point.abs() > largest[lane] { point.abs() } else { largest[lane] };
    };
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            let mut chunks = r.row(y, z)[1..nx - 1].chunks_exact(LANES);
            chunks.by_ref().for_each(|chunk| (0..LANES).for_each(|lane| add(lane, chunk[lane])));
            chunks.remainder().iter().for_each(|point| add(0, *point));
        }
    }
    [squares.iter().sum(), largest.into_iter().fold(0.0, f64::max)]
}
