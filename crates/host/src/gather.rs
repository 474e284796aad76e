//! Sums over numbers that lie scattered in a table larger than the processor's caches.
//!
//! Such a sum waits for memory: the processor looks ahead until the first branch that it predicts wrongly, and each row of
//! numbers ends with one. So each number is fetched into the cache some numbers before it is needed, across the ends of
//! rows: PREFETCHh of the Intel 64 manual, volume 2.

use std::ops::Range;

/// How many numbers ahead of its use one is fetched: a cache line comes from memory in the time of about so many additions.
const AHEAD: usize = 128;

/// Places in a table, all below a bound.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    places: &'a [u32],
    bound: usize,
}

impl<'a> Places<'a> {
    /// These places; `None` where one is not below `bound`.
    pub fn below(bound: usize, places: &'a [u32]) -> Option<Self> {
        let largest = places.iter().fold(0, |largest, place| largest.max(*place));
        (places.is_empty() || (largest as usize) < bound).then_some(Places { places, bound })
    }

    /// The sum of the table's numbers at some of the places, in an order that depends on their number alone, so that it
    /// rounds the same everywhere. Four sums at once, because one would wait for its own last addition.
    ///
    /// # Panics
    /// Where the table is shorter than the bound, or there are fewer places.
    #[inline]
    pub fn sum(&self, range: Range<usize>, table: &[f64]) -> f64 {
        assert!(table.len() >= self.bound, "{} numbers for places below {}", table.len(), self.bound);
        let row = &self.places[range.clone()];
        match self.places.get(range.start + AHEAD..range.end + AHEAD) {
            Some(ahead) => {
                let mut ahead = ahead.iter();
                added(row, |place| {
                    if let Some(later) = ahead.next() {
                        fetch(table, *later);
                    }
                    // SAFETY: all places are below the bound, by `below`, and the table is no shorter.
                    unsafe { *table.get_unchecked(place as usize) }
                })
            }
            None => added(row, |place| table[place as usize]),
        }
    }
}

#[inline(always)]
fn added(row: &[u32], mut number: impl FnMut(u32) -> f64) -> f64 {
    let (fours, rest) = row.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for four in fours {
        for (sum, place) in sums.iter_mut().zip(four) {
            *sum += number(*place);
        }
    }
    let rest: f64 = rest.iter().map(|place| number(*place)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Asks for a number of the table, which need not have one there.
#[inline(always)]
fn fetch(table: &[f64], place: u32) {
    let number = table.as_ptr().wrapping_add(place as usize);
    // SAFETY: the instruction is part of every x86-64 processor; it reads nothing, and ignores addresses without memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(number.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = number;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_a_plain_loop_in_whichever_row() {
        let table: Vec<f64> = (0..50).map(|number| f64::from(number) * 0.1).collect();
        let places: Vec<u32> = (0..300).map(|place| place * 37 % 50).collect();
        for begin in [0, 1, 100, 235, 237, 299, 300] {
            for end in begin..=300 {
                let found = Places::below(50, &places).expect("below").sum(begin..end, &table);
                let alone =
                    Places::below(50, &places[begin..end]).expect("below").sum(0..end - begin, &table);
                assert_eq!(found.to_bits(), alone.to_bits());
                let plain: f64 = places[begin..end].iter().map(|place| table[*place as usize]).sum();
                assert!((found - plain).abs() <= 1e-9 * plain.max(1.0), "{begin}..{end}");
            }
        }
    }

    #[test]
    fn a_place_beyond_the_bound_is_refused() {
        assert!(Places::below(3, &[0, 2, 1]).is_some() && Places::below(0, &[]).is_some());
        assert!(Places::below(2, &[0, 2, 1]).is_none() && Places::below(0, &[0]).is_none());
    }

    #[test]
    #[should_panic(expected = "2 numbers for places below 3")]
    fn a_table_that_is_too_short_is_refused() {
        Places::below(3, &[0]).expect("below").sum(0..1, &[1.0, 2.0]);
    }
}
