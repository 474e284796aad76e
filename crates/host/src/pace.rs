//! How fast this machine is beside the yardstick: the one on which the workloads'
//! estimates of their time were made, two virtual cores of an Intel Xeon of 2.5 GHz.
//! It has nothing to do with the core that systems' speeds are relative to.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// What the task takes on the yardstick in a core's own cache, in seconds.
const CACHED: f64 = 0.0086;

/// What it takes there in memory, in seconds.
const UNCACHED: f64 = 0.0205;

/// Entries of the table that a core's own cache holds: 256 KiB.
const SMALL: usize = 1 << 16;

/// Entries of a table that it does not hold: 8 MiB.
const LARGE: usize = 1 << 21;

/// How many large tables there are, of which the one in the middle counts: on a virtual
/// machine one takes up to twice as long as another, by the pages that it got.
const TABLES: usize = 8;

/// How often the task is timed with each table, of which the least counts: all else is
/// what disturbed it.
const ROUNDS: usize = 4;

/// Steps of the task.
const STEPS: u64 = 1 << 20;

/// How long this machine takes for what the yardstick does in a second: the mean of what
/// it takes in cache and in memory, as analytics do both. What memory out of order takes
/// alone differs by more than twice from hour to hour on one virtual machine.
/// Measured once in a process, which takes about a second.
pub fn pace() -> f64 {
    static PACE: OnceLock<f64> = OnceLock::new();
    *PACE.get_or_init(|| {
        // All at once, so that each has pages of its own.
        let mut tables = vec![vec![1_u32; LARGE]; TABLES];
        let mut times: Vec<f64> = tables.iter_mut().map(|table| least(table)).collect();
        times.sort_by(f64::total_cmp);
        let cached = least(&mut vec![1; SMALL]);
        (cached / CACHED + times[TABLES / 2] / UNCACHED) / 2.0
    })
}

/// The least time that the task takes with a table, in seconds.
fn least(table: &mut [u32]) -> f64 {
    let once = |_| {
        let began = Instant::now();
        task(table);
        began.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(once).fold(f64::INFINITY, f64::min)
}

/// What analytics are made of: arithmetic on 64 bits, and memory out of order.
fn task(table: &mut [u32]) {
    let mut state = 0_u64;
    for _ in 0..STEPS {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let place = (mixed ^ mixed >> 27) as usize % table.len();
        table[place] = table[place].wrapping_mul(31).wrapping_add(mixed as u32);
    }
    black_box(table);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_the_task_takes_longer() {
        let mut table = vec![1; SMALL];
        let mut least = |times: usize| {
            let once = |_| {
                let began = Instant::now();
                (0..times).for_each(|_| task(&mut table));
                began.elapsed()
            };
            (0..5).map(once).min().expect("there are tries")
        };
        assert!(least(4) > least(1), "it is not optimised away");
        let first = pace();
        assert!(first > 0.0 && first.to_bits() == pace().to_bits(), "it is measured once");
    }
}
