//! The sieve of Eratosthenes.

use std::hint::black_box;

use crosstalk_core::Fault;

use super::check::expect;
use crate::user::User;

/// Numbers of primes below powers of ten (OEIS A006880), largest first.
const PRIMES: [(usize, usize); 4] = [(1_000_000, 78_498), (100_000, 9_592), (10_000, 1_229), (1_000, 168)];

/// Sieves of the largest size in a job.
const SIEVES: f64 = 5.0;

pub fn sieve(user: &mut User) -> Result<(), Fault> {
    // Where less than one sieve of a million is due, smaller ones.
    let numbers = SIEVES * PRIMES[0].0 as f64 * user.work;
    let fits = |&&(below, _): &&(usize, usize)| below as f64 <= numbers;
    let (below, expected) = PRIMES.iter().find(fits).unwrap_or(&PRIMES[PRIMES.len() - 1]);
    let times = ((numbers / *below as f64).round() as usize).max(1);
    let mut is_prime = vec![0_u8; *below];
    for _ in 0..times {
        mark(black_box(&mut is_prime));
    }
    let found = is_prime.iter().filter(|&&is| is == 1).count();
    expect("primes", found, *expected)
}

/// Marks primes with 1, all other numbers with 0. As in AIM7, it marks the multiples of every prime from twice the
/// prime on.
fn mark(is_prime: &mut [u8]) {
    is_prime.fill(1);
    let known = is_prime.len().min(2);
    is_prime[..known].fill(0);
    for number in 2..is_prime.len() {
        if is_prime[number] == 1 {
            let mut multiple = 2 * number;
            while multiple < is_prime.len() {
                is_prime[multiple] = 0;
                multiple += number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_primes_are_the_known_ones() {
        for (below, primes) in PRIMES {
            let mut is_prime = vec![0; below];
            mark(&mut is_prime);
            assert_eq!(is_prime.iter().map(|&is| usize::from(is)).sum::<usize>(), primes, "below {below}");
        }
    }
}
