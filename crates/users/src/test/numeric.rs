//! Numeric and trigonometric functions, zeros and series. Each result is checked against an identity.

use std::f64::consts::FRAC_PI_2;
use std::hint::black_box;
use std::sync::LazyLock;

use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;

use super::check::expect;
use super::table::{NUMBERS, SMALLEST, number};
use crate::user::User;

/// Arguments from −10 to 10, every hundredth the smallest number above zero, as AIM7's.
static ARGUMENTS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut random = Rng::seeded(10);
    (0..10_000)
        .map(|index| if index % 100 == 0 { SMALLEST } else { 20.0 * random.uniform() - 10.0 })
        .collect()
});

/// Arguments one after another, from a random place of the table on.
struct Arguments {
    next: usize,
}

impl Arguments {
    fn new(user: &mut User) -> Self {
        Arguments { next: user.random.below(ARGUMENTS.len()) }
    }

    fn next(&mut self) -> f64 {
        self.next += 1;
        if self.next >= ARGUMENTS.len() {
            self.next = 0;
        }
        black_box(ARGUMENTS[self.next])
    }

    /// From 0.0001 to 20.0001.
    fn next_positive(&mut self) -> f64 {
        self.next() + 10.0001
    }
}

pub fn trig_rtns(user: &mut User) -> Result<(), Fault> {
    let mut arguments = Arguments::new(user);
    let mut wrong = 0;
    let mut right = |is: bool| wrong += usize::from(!is);
    for _ in 0..user.scaled(10_000) {
        let folded = arguments.next().sin().asin();
        let again = folded.cos().acos();
        right((again - folded.abs()).abs() < 1e-6);
        let bounded = arguments.next().tan().atan().tanh();
        right(bounded.abs() <= FRAC_PI_2.tanh());
        let (sine, cosine) = (arguments.next().sinh(), arguments.next().cosh());
        let angle = sine.atan2(cosine);
        // A hyperbolic cosine is above zero, so the angle is on the right.
        right(angle.abs() <= FRAC_PI_2 && (angle >= 0.0) == (sine >= 0.0));
    }
    expect("wrong trigonometric values", wrong, 0)
}

pub fn num_rtns_1(user: &mut User) -> Result<(), Fault> {
    let mut arguments = Arguments::new(user);
    let mut wrong = 0;
    let mut right = |is: bool| wrong += usize::from(!is);
    for round in 0..user.scaled(100) {
        let (whole, up) = (arguments.next().exp().floor(), arguments.next_positive().log10().ceil());
        right(whole >= 0.0 && (-4.0..=2.0).contains(&up));
        let logarithm = arguments.next_positive().ln();
        let (integer, fraction) = (logarithm.trunc(), logarithm.fract());
        right(integer + fraction == logarithm);
        let negative = arguments.next() - 10.0001;
        let (mantissa, exponent) = split(negative);
        right(scale(mantissa, exponent) == negative);
        let scaled = scale(arguments.next(), exponent.abs());
        let remainder = (arguments.next() * 5.0) % arguments.next_positive();
        right(scaled.is_finite() && remainder.abs() < 21.0);
        let root = arguments.next_positive().powf(arguments.next()).sqrt();
        right(root > 0.0);
        let mut generator = Additive::seeded(exponent.unsigned_abs());
        right((i64::from(generator.next()) - round as i64).abs() <= i64::from(u32::MAX >> 1));
    }
    expect("wrong numeric values", wrong, 0)
}

/// A number as a mantissa from ½ to 1 and a power of two (frexp(3)). Zero, and what is not finite, stays.
fn split(number: f64) -> (f64, i32) {
    let bits = number.to_bits();
    match (bits >> 52 & 0x7ff) as i32 {
        0x7ff => (number, 0),
        0 if number == 0.0 => (number, 0),
        // Without a leading one: made larger first.
        0 => {
            let (mantissa, exponent) = split(number * (1_u64 << 54) as f64);
            (mantissa, exponent - 54)
        }
        exponent => (f64::from_bits(bits & !(0x7ff << 52) | 0x3fe << 52), exponent - 0x3fe),
    }
}

/// A number times a power of two (ldexp(3)), for results that are not as small as the smallest.
fn scale(number: f64, exponent: i32) -> f64 {
    number * f64::from_bits(((0x3ff + exponent).clamp(1, 0x7fe) as u64) << 52)
}

/// An additive generator of random numbers like that of random(3), whose seeding takes most of the time: 31
/// numbers by Park's and Miller's multiplicative generator (CACM 1988), then ten rounds of them are left out.
struct Additive {
    state: [u32; 31],
    at: usize,
}

impl Additive {
    fn seeded(seed: u32) -> Self {
        let mut value = i64::from(seed.max(1));
        let mut state = [0; 31];
        for number in &mut state {
            *number = value as u32;
            value = black_box(value * 16_807 % i64::from(i32::MAX));
        }
        let mut generator = Additive { state, at: 3 };
        for _ in 0..310 {
            black_box(generator.next());
        }
        generator
    }

    /// From 0 to 2³¹ − 1.
    fn next(&mut self) -> u32 {
        let before = if self.at >= 3 { self.at - 3 } else { self.at + 28 };
        self.state[self.at] = self.state[self.at].wrapping_add(self.state[before]);
        let result = self.state[self.at] >> 1;
        self.at = if self.at == 30 { 0 } else { self.at + 1 };
        result
    }
}

pub fn new_raph(user: &mut User) -> Result<(), Fault> {
    for start in 0..user.scaled(200) {
        let zero = find_zero(0.05 * start as f64)?;
        let (value, _) = curve(zero);
        let is_zero = value.abs() < 1e-6;
        if !is_zero {
            return Err(Fault::attempt(format!("the curve is {value} where a zero was found: {zero}")));
        }
    }
    Ok(())
}

/// Most steps until a zero is found.
const TRIES: usize = 100;

/// A zero of the curve, by Newton's and Raphson's method.
fn find_zero(start: f64) -> Result<f64, Fault> {
    let mut at = start;
    for _ in 0..TRIES {
        let (value, slope) = curve(at);
        let next = at - value / slope;
        if (next - at).abs() < 1e-12 {
            return Ok(next);
        }
        at = black_box(next);
    }
    Err(Fault::attempt(format!("found no zero from {start} on in {TRIES} steps")))
}

/// The curve 1000 sin x cos x, and its slope.
fn curve(at: f64) -> (f64, f64) {
    let (sine, cosine) = black_box(at).sin_cos();
    (1000.0 * sine * cosine, 1000.0 * (cosine * cosine - sine * sine))
}

pub fn series_1(user: &mut User) -> Result<(), Fault> {
    let first = user.random.below(NUMBERS);
    for index in 0..user.scaled(100) {
        let angle = number(first + index);
        let (sum, sine) = (sine_by_series(angle), angle.sin());
        let agree = (sum - sine).abs() <= 1e-12;
        if !agree {
            return Err(Fault::attempt(format!(
                "the series of the sine of {angle} is {sum}, expected {sine}"
            )));
        }
    }
    Ok(())
}

/// x − x³/3! + x⁵/5! …, until it no longer changes.
fn sine_by_series(angle: f64) -> f64 {
    let angle = black_box(angle);
    let square = angle * angle;
    let (mut sum, mut power, mut factorial, mut order) = (0.0, angle, 1.0, 1.0);
    loop {
        let before = sum;
        sum = black_box(sum + power / factorial);
        factorial = black_box(factorial * black_box((order + 1.0) * (order + 2.0)));
        order = black_box(order + 2.0);
        power = black_box(power * -square);
        if sum == before {
            return sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_split_and_put_together_again() {
        assert_eq!(split(8.0), (0.5, 4));
        assert_eq!(split(-0.75), (-0.75, 0));
        assert_eq!(split(SMALLEST), (0.5, -1073));
        assert_eq!(split(0.0), (0.0, 0));
        assert_eq!(scale(0.75, 3), 6.0);
    }

    #[test]
    fn zeros_and_sines_are_those_of_the_closed_forms() {
        let zero = find_zero(1.4).expect("converges");
        assert!((zero - FRAC_PI_2).abs() < 1e-9, "{zero}");
        assert!((sine_by_series(FRAC_PI_2) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn seeds_of_the_additive_generator_matter() {
        let first = |seed| Additive::seeded(seed).next();
        assert_ne!(first(1), first(2));
        // As glibc's random(3) has it after srandom(1).
        assert_eq!(first(1), 1_804_289_383);
    }
}
