//! How fast this machine is beside the yardstick: the one on which the workloads'
//! estimates of their time were made, two virtual cores of an Intel Xeon of 2.5 GHz.
//! It has nothing to do with the core that systems' speeds are relative to.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Instant;

/// What the task takes on the yardstick in a core's own cache, in seconds.
const CACHED: f64 = 0.0043;

/// What it takes there in memory, in seconds.
const UNCACHED: f64 = 0.0103;

/// How much what it takes in memory counts. That differs by more than twice from hour to hour
/// on one virtual machine, and what analytics take hardly does.
const IN_MEMORY: f64 = 0.25;

/// Entries of the table that a core's own cache holds: 256 KiB.
const SMALL: usize = 1 << 16;

/// Entries of a table that it does not hold: 8 MiB.
const LARGE: usize = 1 << 21;

/// How many large tables there are: on a virtual machine one takes up to twice as long as
/// another, by the pages that it got.
const TABLES: usize = 4;

/// How often the task is timed with each table, of which the least counts: all else is
/// what disturbed it, for up to a second at a time.
const ROUNDS: usize = 24;

/// Steps of the task.
const STEPS: u64 = 1 << 19;

/// How long this machine takes for what the yardstick does in a second, most of it in a
/// core's own cache. Measured once in a process, which takes one to two seconds.
pub fn pace() -> f64 {
    static PACE: OnceLock<f64> = OnceLock::new();
    *PACE.get_or_init(|| {
        // All at once, so that each has pages of its own.
        let mut large = vec![vec![1_u32; LARGE]; TABLES];
        let mut small = vec![1; SMALL];
        let (mut cached, mut uncached) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            cached = cached.min(seconds(&mut small));
            uncached = large.iter_mut().map(|table| seconds(table)).fold(uncached, f64::min);
        }
        (1.0 - IN_MEMORY) * cached / CACHED + IN_MEMORY * uncached / UNCACHED
    })
}

/// What the task takes with a table.
fn seconds(table: &mut [u32]) -> f64 {
    let began = Instant::now();
    task(table);
    began.elapsed().as_secs_f64()
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
