//! Loops over vectors. Sums are made of several, side by side, which hide how long an addition takes.

/// Sums side by side.
const LANES: usize = 8;

/// The sum of sums that were made side by side: halves are added, as vector instructions do it.
#[inline(always)]
pub(super) fn add_up(sums: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// The sum of `term` over the elements of two vectors, as far as both have them.
#[inline(always)]
fn sum(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; LANES];
    let ((a, rest_of_a), (b, rest_of_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    sums.iter_mut().zip(rest_of_a.iter().zip(rest_of_b)).for_each(|(sum, (a, b))| *sum += term(*a, *b));
    add_up(sums)
}

/// a·b.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| a * b)
}

/// The square of the distance of a and b.
pub(super) fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    sum(a, b, |a, b| (a - b) * (a - b))
}

/// y += factor · x.
pub(super) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// y = x + factor · y.
pub(super) fn scale_and_add(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x + factor * *y);
}

/// y = factor · x.
pub(super) fn scale_into(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = factor * x);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_length_have_their_closed_forms() {
        for length in 0..40_u32 {
            let numbers: Vec<f64> = (1..=length).map(f64::from).collect();
            let squares = f64::from(length * (length + 1) * (2 * length + 1) / 6);
            assert_eq!(dot(&numbers, &numbers), squares);
            let doubled: Vec<f64> = numbers.iter().map(|number| 2.0 * number).collect();
            assert_eq!(distance_squared(&numbers, &doubled), squares);
        }
    }

    #[test]
    fn vectors_are_combined_element_by_element() {
        let x = [1.0, 2.0, 3.0];
        let mut y = [10.0, 20.0, 30.0];
        add_scaled(&mut y, 2.0, &x);
        assert_eq!(y, [12.0, 24.0, 36.0]);
        scale_and_add(&mut y, 0.5, &x);
        assert_eq!(y, [7.0, 14.0, 21.0]);
        scale_into(&mut y, -1.0, &x);
        assert_eq!(y, [-1.0, -2.0, -3.0]);
    }
}
