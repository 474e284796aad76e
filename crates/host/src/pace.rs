//! The speed of this machine relative to the reference machine of the workloads' time
//! estimates: two virtual cores of an Intel Xeon of 2.5 GHz. It is not the reference core
//! of systems' speeds.

use std::hint::black_box;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Seconds that the task takes on the reference machine.
const REFERENCE_SECONDS: f64 = 0.0043;

/// Entries of the table, a power of two: 256 KiB, which fit a core's own cache. On one virtual
/// machine, tasks in main memory differ by more than twice from hour to hour, unlike analytics.
const ENTRIES: usize = 1 << 16;

/// The most bursts of timings. The shortest time counts, since disturbances only add time. They
/// last up to a second, so there are pauses between bursts, until two bursts agree.
const BURSTS: usize = 4;
/// The largest relative difference of bursts that agree.
const AGREE: f64 = 0.005;
/// Timings in a burst.
const ROUNDS: usize = 50;
const PAUSE: Duration = Duration::from_millis(500);

/// Steps of the task.
const STEPS: u64 = 1 << 19;

/// Seconds in which this machine computes what the reference machine computes in one. It is
/// measured once in a process, which takes from 1 to 2.5 seconds.
pub fn pace() -> f64 {
    static PACE: OnceLock<f64> = OnceLock::new();
    *PACE.get_or_init(|| {
        let mut table = vec![1_u32; ENTRIES];
        let mut shortest = f64::INFINITY;
        for burst in 0..BURSTS {
            if burst > 0 {
                thread::sleep(PAUSE);
            }
            let this = (0..ROUNDS).map(|_| seconds(&mut table)).fold(f64::INFINITY, f64::min);
            let agree = (this / shortest - 1.0).abs() < AGREE;
            shortest = shortest.min(this);
            if agree {
                break;
            }
        }
        shortest / REFERENCE_SECONDS
    })
}

/// Seconds that the task takes.
fn seconds(table: &mut [u32]) -> f64 {
    let began = Instant::now();
    task(table);
    began.elapsed().as_secs_f64()
}

/// The operations of analytics: arithmetic on 64 bits, and memory in random order. It is compiled
/// separately and for any length of the table, so that it is the same task for every caller.
#[inline(never)]
fn task(table: &mut [u32]) {
    let table = black_box(table);
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
        let mut table = vec![1; ENTRIES];
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
