//! How fast this machine is beside the yardstick: the one on which the workloads'
//! estimates of their time were made, two virtual cores of an Intel Xeon of 2.5 GHz.
//! It has nothing to do with the core that systems' speeds are relative to.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// What [`task`] takes on the yardstick, in seconds.
const REFERENCE: f64 = 0.042;

/// How many tables there are, whose mean counts: on a virtual machine one takes up to
/// twice as long as another, by the pages that it got and by what else its host does.
const TABLES: usize = 8;

/// Entries of a table: 8 MiB, more than a core's own caches hold.
const ENTRIES: usize = 1 << 21;

/// Steps of the task.
const STEPS: u64 = 1 << 21;

/// How long this machine takes for what the yardstick does in a second.
/// Measured once in a process, which takes about half a second.
pub fn pace() -> f64 {
    static PACE: OnceLock<f64> = OnceLock::new();
    *PACE.get_or_init(|| {
        // All at once, so that each has pages of its own.
        let mut tables = vec![vec![1_u32; ENTRIES]; TABLES];
        let began = Instant::now();
        tables.iter_mut().for_each(|table| task(table));
        began.elapsed().as_secs_f64() / TABLES as f64 / REFERENCE
    })
}

/// What analytics are made of: arithmetic on 64 bits, and memory out of order.
fn task(table: &mut [u32]) {
    let mut state = 0_u64;
    for _ in 0..STEPS {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let place = (mixed ^ mixed >> 27) as usize % ENTRIES;
        table[place] = table[place].wrapping_mul(31).wrapping_add(mixed as u32);
    }
    black_box(table);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_the_task_takes_longer() {
        let mut table = vec![1; ENTRIES];
        let mut least = |rounds: usize| {
            let once = |_| {
                let began = Instant::now();
                (0..rounds).for_each(|_| task(&mut table));
                began.elapsed()
            };
            (0..5).map(once).min().expect("there are tries")
        };
        assert!(least(4) > least(1), "it is not optimised away");
        let first = pace();
        assert!(first > 0.0 && first.to_bits() == pace().to_bits(), "it is measured once");
    }
}
