//! Additions, multiplications and divisions of numbers of five types, twelve in a round.
//!
//! As in AIM7, floating-point results go through memory (it is built with `-ffloat-store`) and integers stay in
//! registers. A round's longest chain of operations that wait for each other is as long as there, as gcc compiles
//! it: of the twelve, six for floating-point sums and products and ten for their quotients; four for sums of long
//! integers and two for those of int and short, of which gcc makes one addition of each two equal ones; eight for
//! integer products, and six for their quotients.

use std::hint::black_box;

use crosstalk_core::Fault;

use super::check::expect;
use crate::user::User;

/// The tests of a floating-point type: names and numbers of rounds.
macro_rules! floating {
    ($type:ty, $add:ident $additions:literal, $mul:ident $multiplications:literal, $div:ident $divisions:literal) => {
        pub fn $add(user: &mut User) -> Result<(), Fault> {
            let (up, down): ($type, $type) = black_box((3.5, -3.5));
            let (mut left, mut right): ($type, $type) = (0.0, 1.0);
            for _ in 0..user.scaled($additions) {
                for (first, second) in
                    [(up, down), (up, down), (down, up), (down, up), (up, down), (down, up)]
                {
                    left = black_box(left + first);
                    right = black_box(right + second);
                }
            }
            expect("the sums", (left, right), (0.0, 1.0))
        }

        pub fn $mul(user: &mut User) -> Result<(), Fault> {
            let (up, down): ($type, $type) = black_box((4.0, 0.25));
            let (mut left, mut right): ($type, $type) = (1.0, 3.0);
            for _ in 0..user.scaled($multiplications) {
                for (first, second) in
                    [(up, down), (up, down), (down, up), (down, up), (up, down), (down, up)]
                {
                    left = black_box(left * first);
                    right = black_box(right * second);
                }
            }
            expect("the products", (left, right), (1.0, 3.0))
        }

        pub fn $div(user: &mut User) -> Result<(), Fault> {
            let (up, down): ($type, $type) = black_box((0.25, 4.0));
            let (mut left, mut right): ($type, $type) = (3.0, 5.0);
            for _ in 0..user.scaled($divisions) {
                for _ in 0..5 {
                    left = black_box(left / up);
                    left = black_box(left / down);
                }
                right = black_box(right / up);
                right = black_box(right / down);
            }
            expect("the quotients", (left, right), (3.0, 5.0))
        }
    };
}

floating!(f64, add_double 1_500_000, mul_double 1_000_000, div_double 250_000);
floating!(f32, add_float 1_000_000, mul_float 1_000_000, div_float 250_000);

/// The tests of an integer type: its unsigned form, which wraps, and the type in which C divides it; names, numbers
/// of rounds, how many steps of an addition's round three pairs of numbers take, and how many of a multiplication's two.
macro_rules! integer {
    (
        $type:ty, $wrapping:ty, $dividing:ty,
        $add:ident $additions:literal of $steps:literal,
        $mul:ident $multiplications:literal in ($one:literal, $other:literal),
        $div:ident $divisions:literal
    ) => {
        pub fn $add(user: &mut User) -> Result<(), Fault> {
            let rounds = user.scaled($additions);
            let [mut a, mut b, mut c]: [[$wrapping; 2]; 3] =
                black_box([START.map(|start| start as $wrapping); 3]);
            for _ in 0..rounds {
                for _ in 0..$steps {
                    for pair in [&mut a, &mut b, &mut c] {
                        pair[0] = pair[0].wrapping_add(pair[1]);
                        pair[1] = pair[1].wrapping_add(pair[0]);
                    }
                }
            }
            let expected = after($steps * rounds).map(|number| number as $wrapping);
            expect("the sums", [a, b, c], [expected; 3])
        }

        pub fn $mul(user: &mut User) -> Result<(), Fault> {
            let rounds = user.scaled($multiplications);
            let start = START.map(|exponent| power(BASE, exponent) as $wrapping);
            let [mut a, mut b]: [[$wrapping; 2]; 2] = black_box([start; 2]);
            for _ in 0..rounds {
                for (pair, steps) in [(&mut a, $one), (&mut b, $other)] {
                    for _ in 0..steps {
                        pair[0] = pair[0].wrapping_mul(pair[1]);
                        pair[1] = pair[1].wrapping_mul(pair[0]);
                    }
                }
            }
            let expected = [$one, $other]
                .map(|steps| after(steps * rounds).map(|exponent| power(BASE, exponent) as $wrapping));
            expect("the products", [a, b], expected)
        }

        pub fn $div(user: &mut User) -> Result<(), Fault> {
            let (one, minus): ($type, $type) = black_box((1, -1));
            let (mut left, mut right): ($type, $type) = black_box((12_345, -12_345));
            let divide =
                |a: $type, b: $type| (<$dividing>::from(a)).wrapping_div(<$dividing>::from(b)) as $type;
            for _ in 0..user.scaled($divisions) {
                for _ in 0..6 {
                    left = divide(left, one);
                    right = divide(right, minus);
                }
            }
            expect("the quotients", (left, right), (12_345, -12_345))
        }
    };
}

integer!(i32, u32, i32, add_int 5_000_000 of 1, mul_int 20_000 in (4, 2), div_int 75_000);
integer!(i64, u64, i64, add_long 5_000_000 of 2, mul_long 20_000 in (4, 2), div_long 75_000);
integer!(i16, u16, i32, add_short 2_000_000 of 1, mul_short 25_000 in (4, 2), div_short 75_000);

/// What a pair of numbers that are added begins with; exponents of a pair that is multiplied.
const START: [u64; 2] = [1, 2];

/// The base of those exponents: odd, so that products never become 0.
const BASE: u64 = 5;

type Matrix = [[u64; 2]; 2];

/// A pair after so many steps, modulo 2⁶⁴, where a step is `a += b; b += a`: by a power of the step's matrix, which
/// needs few operations. They are also the exponents if a step multiplies.
fn after(mut steps: usize) -> [u64; 2] {
    let mut square: Matrix = [[1, 1], [1, 2]];
    let mut result: Matrix = [[1, 0], [0, 1]];
    while steps > 0 {
        if steps % 2 == 1 {
            result = product(&result, &square);
        }
        square = product(&square, &square);
        steps /= 2;
    }
    result.map(|row| dot(row, START))
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.map(|row| [0, 1].map(|column| dot(row, b.map(|other| other[column]))))
}

fn dot(a: [u64; 2], b: [u64; 2]) -> u64 {
    a[0].wrapping_mul(b[0]).wrapping_add(a[1].wrapping_mul(b[1]))
}

/// A power of an odd number modulo 2⁶⁴. Its order divides 2⁶², so the exponent may be known modulo 2⁶⁴ only.
fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1_u64;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_the_steps_matrix_is_what_steps_lead_to() {
        let [mut a, mut b] = START;
        for _ in 0..70 {
            a = a.wrapping_add(b);
            b = b.wrapping_add(a);
        }
        assert_eq!(after(70), [a, b]);
        assert_eq!(after(0), START);
        assert_eq!(power(5, 3), 125);
        assert_eq!(power(7, 1 << 62), 1);
    }
}
