//! Sorting and searching with a function that compares.
//!
//! A merge sort, as the C library's `qsort` was until glibc 2.37: the standard library's sort would notice that
//! these numbers are in order already.

use std::hint::black_box;

use crosstalk_core::Fault;

use super::check::expect;
use crate::user::User;

/// Numbers that are sorted.
const NUMBERS: usize = 10_000;

/// Rounds of three sorts and a series of searches.
const ROUNDS: usize = 2;

/// Whether a number may stand before another.
type Order = fn(&i32, &i32) -> bool;

fn up(a: &i32, b: &i32) -> bool {
    a <= b
}

fn down(a: &i32, b: &i32) -> bool {
    b <= a
}

pub fn sort_rtns_1(user: &mut User) -> Result<(), Fault> {
    let rounds = user.scaled(ROUNDS);
    let numbers = scaled_numbers(user.work);
    let mut table: Vec<i32> = (0..numbers as i32).collect();
    let probes = (0..2 * numbers as i32).step_by(10);
    for _ in 0..rounds {
        for order in [up as Order, down, up] {
            sort(&mut table, black_box(order));
        }
        let order: Order = black_box(up);
        let found = |probe: &i32| {
            let before = table.partition_point(|number| !order(probe, number));
            table.get(before) == Some(probe)
        };
        let missing = probes.clone().filter(|probe| !found(probe));
        let expected = probes.clone().filter(|&probe| probe >= numbers as i32).count();
        expect("numbers that are not in the table", missing.count(), expected)?;
    }
    expect("the sorted numbers are in order", table.iter().copied().eq(0..numbers as i32), true)
}

/// Fewer numbers where less than one round is due: at least 10.
fn scaled_numbers(work: f64) -> usize {
    ((NUMBERS * ROUNDS) as f64 * work).clamp(10.0, NUMBERS as f64) as usize
}

/// Sorts by merging sorted halves.
fn sort(numbers: &mut [i32], order: Order) {
    let mut spare = vec![0; numbers.len()];
    merge_sort(numbers, &mut spare, order);
}

fn merge_sort(numbers: &mut [i32], spare: &mut [i32], order: Order) {
    let count = numbers.len();
    if count < 2 {
        return;
    }
    let middle = count / 2;
    merge_sort(&mut numbers[..middle], spare, order);
    merge_sort(&mut numbers[middle..], spare, order);
    let (mut left, mut right, mut merged) = (0, middle, 0);
    while left < middle && right < count {
        if order(&numbers[left], &numbers[right]) {
            spare[merged] = numbers[left];
            left += 1;
        } else {
            spare[merged] = numbers[right];
            right += 1;
        }
        merged += 1;
    }
    // What is left of the right half stands where it belongs.
    spare[merged..right].copy_from_slice(&numbers[left..middle]);
    numbers[..right].copy_from_slice(&spare[..right]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(mut numbers: Vec<i32>) {
            let mut expected = numbers.clone();
            expected.sort_unstable();
            sort(&mut numbers, up);
            prop_assert_eq!(&numbers, &expected);
            sort(&mut numbers, down);
            expected.reverse();
            prop_assert_eq!(numbers, expected);
        }
    }
}
