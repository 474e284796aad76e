//! What changes at a point, as waves along a direction: three that are carried along, one that runs ahead at the speed of
//! sound, and one that stays behind (RNR-94-007, section 3.4). Each function converts a pack of points.
#![allow(clippy::needless_range_loop, reason = "points of several packs are numbered alike")]

use std::f64::consts::FRAC_1_SQRT_2;

use crate::adi::cell::{DERIVED, KINETIC, SOUND, VOLUME};
use crate::adi::field::{PACK, Pack};
use crate::flow::{GAMMA, VALUES};

/// From values to waves along the first direction.
#[inline(always)]
pub(super) fn first(derived: [&Pack; DERIVED], change: &mut [Pack; VALUES]) {
    for l in 0..PACK {
        let (volume, sound, kinetic) = (derived[VOLUME][l], derived[SOUND][l], derived[KINETIC][l]);
        let (u, v, w) = (derived[1][l], derived[2][l], derived[3][l]);
        let [a, b, c, d, e] = [change[0][l], change[1][l], change[2][l], change[3][l], change[4][l]];
        let pressure = (GAMMA - 1.0) * (kinetic * a - u * b - v * c - w * d + e);
        let denser = pressure / (sound * sound);
        let faster = FRAC_1_SQRT_2 * volume * (u * a - b);
        let louder = FRAC_1_SQRT_2 * volume * sound * denser;
        change[0][l] = a - denser;
        change[1][l] = -volume * (w * a - d);
        change[2][l] = volume * (v * a - c);
        change[3][l] = louder - faster;
        change[4][l] = louder + faster;
    }
}

/// From waves along the first direction to those along the second.
#[inline(always)]
pub(super) fn second(wave: &mut [Pack]) {
    for l in 0..PACK {
        let [a, b, c, d, e] = [wave[0][l], wave[1][l], wave[2][l], wave[3][l], wave[4][l]];
        let (across, both) = (FRAC_1_SQRT_2 * c, 0.5 * (d + e));
        wave[0][l] = -b;
        wave[1][l] = a;
        wave[2][l] = FRAC_1_SQRT_2 * (d - e);
        wave[3][l] = both - across;
        wave[4][l] = both + across;
    }
}

/// From waves along the second direction to those along the third.
#[inline(always)]
pub(super) fn third(wave: &mut [Pack]) {
    for l in 0..PACK {
        let [a, b, c, d, e] = [wave[0][l], wave[1][l], wave[2][l], wave[3][l], wave[4][l]];
        let (across, both) = (FRAC_1_SQRT_2 * a, 0.5 * (d + e));
        wave[0][l] = FRAC_1_SQRT_2 * (d - e);
        wave[1][l] = -c;
        wave[2][l] = b;
        wave[3][l] = both - across;
        wave[4][l] = both + across;
    }
}

/// From waves along the third direction to values.
#[inline(always)]
pub(super) fn values(density: &Pack, derived: [&Pack; DERIVED], wave: &mut [Pack]) {
    for l in 0..PACK {
        let (density, sound, kinetic) = (density[l], derived[SOUND][l], derived[KINETIC][l]);
        let (u, v, w) = (derived[1][l], derived[2][l], derived[3][l]);
        let [a, b, c, d, e] = [wave[0][l], wave[1][l], wave[2][l], wave[3][l], wave[4][l]];
        let share = FRAC_1_SQRT_2 * density;
        let denser = share / sound * (d + e);
        let (mass, along) = (c + denser, share * (d - e));
        wave[0][l] = mass;
        wave[1][l] = u * mass - density * b;
        wave[2][l] = v * mass + density * a;
        wave[3][l] = w * mass + along;
        wave[4][l] =
            density * (v * a - u * b) + kinetic * mass + sound * sound * denser / (GAMMA - 1.0) + w * along;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_of_all_directions_are_the_same_change() {
        let (u, v, w, density, sound) = (0.3, -0.2, 0.5, 1.7, 1.1);
        let kinetic = 0.5 * (u * u + v * v + w * w);
        let derived = [1.0 / density, u, v, w, kinetic, sound].map(|quantity: f64| [quantity; PACK]);
        let derived = [0, 1, 2, 3, 4, 5].map(|quantity: usize| &derived[quantity]);
        let change = [0.1, -0.7, 0.4, 0.9, 2.0];
        let mut wave = change.map(|value| [value; PACK]);
        first(derived, &mut wave);
        second(&mut wave);
        third(&mut wave);
        values(&[density; PACK], derived, &mut wave);
        for (found, change) in wave.iter().zip(change) {
            assert!(found.iter().all(|found| (found - change).abs() < 1e-14), "{found:?} {change}");
        }
    }
}
