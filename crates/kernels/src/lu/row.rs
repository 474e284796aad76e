//! The residual along a row: one value at a time, from the lines of values around the row.

use std::ops::Range;

use super::field::Field;
use crate::flow::{ALONG, VALUES};

/// Planes of derived values: one on either side of the current one.
pub(super) const DERIVED_PLANES: usize = 3;
/// Derived values: three velocities, from 0, then these.
const PRESSURE: usize = 3;
/// What conduction and viscosity act on in the energy's equation, without the part of the velocity along the gradient.
const HEAT: usize = 4;

/// Coefficients of a row.
pub(super) struct Weights<'a> {
    /// Diffusion and dissipation along ξ, for each point.
    pub(super) xi: [&'a [f64]; 5],
    /// The same along η and ζ.
    pub(super) across: [[f64; 5]; 2],
    /// Of a flux's difference over two points.
    pub(super) flux: f64,
    /// Of a second difference.
    pub(super) viscosity: f64,
}

/// A row within the cube.
pub(super) struct Row {
    /// Its inner points.
    pub(super) xi: Range<usize>,
    pub(super) row: usize,
    pub(super) plane: usize,
}

/// Lines of one value: of the row itself, and of those next to it in each direction, at lower and at higher indices.
struct Cross<'a> {
    centre: &'a [f64],
    low: [&'a [f64]; 3],
    high: [&'a [f64]; 3],
}

/// What all values' residuals need.
struct Around<'a> {
    velocities: [Cross<'a>; 3],
    pressure: Cross<'a>,
    heat: Cross<'a>,
}

impl Row {
    /// Computes the residual of all values: of the state and the forcing, and of what is derived from the state.
    pub(super) fn compute(
        &self,
        [u, forcing]: [&Field; 2],
        derived: &Field,
        residual: &mut Field,
        weights: &Weights,
    ) {
        let around = Around {
            velocities: [self.derived(derived, 0), self.derived(derived, 1), self.derived(derived, 2)],
            pressure: self.derived(derived, PRESSURE),
            heat: self.derived(derived, HEAT),
        };
        self.value::<0>([u, forcing], &around, residual, weights);
        self.value::<1>([u, forcing], &around, residual, weights);
        self.value::<2>([u, forcing], &around, residual, weights);
        self.value::<3>([u, forcing], &around, residual, weights);
        self.value::<4>([u, forcing], &around, residual, weights);
    }

    fn value<const VALUE: usize>(
        &self,
        [u, forcing]: [&Field; 2],
        around: &Around,
        residual: &mut Field,
        weights: &Weights,
    ) {
        const { assert!(VALUE < VALUES) };
        let forcing = self.cut(forcing.line(VALUE, self.row, self.plane), 0);
        let (near, far) = (self.state::<1>(u, VALUE), self.state::<2>(u, VALUE));
        let out = &mut residual.line_mut(VALUE, self.row, self.plane)[self.xi.clone()];
        compute_line::<VALUE>(out, [&near, &far], forcing, around, weights);
    }

    /// One value of the state, here and some points away in each direction.
    #[inline(always)]
    fn state<'a, const DISTANCE: usize>(&self, u: &'a Field, value: usize) -> Cross<'a> {
        let Row { row, plane, .. } = *self;
        let line = u.line(value, row, plane);
        // Beyond the surface, its weight is zero.
        let (below, above) = (plane.saturating_sub(DISTANCE), (plane + DISTANCE).min(u.planes() - 1));
        Cross {
            centre: self.cut(line, 0),
            low: [
                self.cut(line, -(DISTANCE as isize)),
                self.cut(u.line(value, row - DISTANCE, plane), 0),
                self.cut(u.line(value, row, below), 0),
            ],
            high: [
                self.cut(line, DISTANCE as isize),
                self.cut(u.line(value, row + DISTANCE, plane), 0),
                self.cut(u.line(value, row, above), 0),
            ],
        }
    }

    /// One of the derived values, here and next to it.
    #[inline(always)]
    fn derived<'a>(&self, derived: &'a Field, value: usize) -> Cross<'a> {
        let [below, here, above] =
            [self.plane - 1, self.plane, self.plane + 1].map(|plane| plane % DERIVED_PLANES);
        let line = derived.line(value, self.row, here);
        Cross {
            centre: self.cut(line, 0),
            low: [
                self.cut(line, -1),
                self.cut(derived.line(value, self.row - 1, here), 0),
                self.cut(derived.line(value, self.row, below), 0),
            ],
            high: [
                self.cut(line, 1),
                self.cut(derived.line(value, self.row + 1, here), 0),
                self.cut(derived.line(value, self.row, above), 0),
            ],
        }
    }

    /// The inner part of a line, moved by `shift`.
    #[inline(always)]
    fn cut<'a>(&self, line: &'a [f64], shift: isize) -> &'a [f64] {
        let begin = self.xi.start.wrapping_add_signed(shift);
        &line[begin..begin + self.xi.len()]
    }
}

/// Lines of this length, so that no index into them has to be checked.
#[inline(always)]
fn cut<const COUNT: usize>(lines: [&[f64]; COUNT], length: usize) -> [&[f64]; COUNT] {
    lines.map(|line| &line[..length])
}

/// Computes one value's residual along a row.
#[inline(always)]
fn compute_line<const VALUE: usize>(
    out: &mut [f64],
    [near, far]: [&Cross; 2],
    forcing: &[f64],
    around: &Around,
    weights: &Weights,
) {
    let count = out.len();
    let [x, y, z] = &around.velocities;
    // Of density, viscosity changes nothing.
    let own = if VALUE == 0 || VALUE == 4 { &around.heat } else { &around.velocities[VALUE - 1] };
    let (low, high) = (cut(near.low, count), cut(near.high, count));
    let (far_low, far_high) = (cut(far.low, count), cut(far.high, count));
    let (own_low, own_high) = (cut(own.low, count), cut(own.high, count));
    let (pressure_low, pressure_high) = (cut(around.pressure.low, count), cut(around.pressure.high, count));
    let speed_low = cut([x.low[0], y.low[1], z.low[2]], count);
    let speed_high = cut([x.high[0], y.high[1], z.high[2]], count);
    let speed = cut([x.centre, y.centre, z.centre], count);
    let [centre, own, forcing] = cut([near.centre, own.centre, forcing], count);
    let xi = cut(weights.xi, count);
    let [eta, zeta] = weights.across;
    let (flux, viscosity) = (weights.flux, weights.viscosity);
    let work = 0.5 * (ALONG - 1.0);
    for i in 0..count {
        let along = [
            [xi[0][i], xi[1][i], xi[3][i], xi[4][i]],
            [eta[0], eta[1], eta[3], eta[4]],
            [zeta[0], zeta[1], zeta[3], zeta[4]],
        ];
        let mut spread = (xi[2][i] + eta[2] + zeta[2]) * centre[i];
        let (mut flows, mut viscous) = (0.0, 0.0);
        for axis in 0..3 {
            let w = along[axis];
            spread += w[0] * far_low[axis][i]
                + w[1] * low[axis][i]
                + w[2] * high[axis][i]
                + w[3] * far_high[axis][i];
            let (before, after) = (speed_low[axis][i], speed_high[axis][i]);
            if VALUE == 4 {
                flows += (high[axis][i] + pressure_high[axis][i]) * after
                    - (low[axis][i] + pressure_low[axis][i]) * before;
                let squares = after * after + before * before - 2.0 * speed[axis][i] * speed[axis][i];
                viscous += own_low[axis][i] + own_high[axis][i] - 2.0 * own[i] + work * squares;
            } else {
                flows += high[axis][i] * after - low[axis][i] * before;
                if VALUE == axis + 1 {
                    flows += pressure_high[axis][i] - pressure_low[axis][i];
                }
                if VALUE > 0 {
                    let factor = if VALUE == axis + 1 { ALONG } else { 1.0 };
                    viscous += factor * (own_low[axis][i] + own_high[axis][i] - 2.0 * own[i]);
                }
            }
        }
        out[i] = spread + viscosity * viscous - flux * flows - forcing[i];
    }
}
