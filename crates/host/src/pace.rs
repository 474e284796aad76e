//! How fast this machine is beside the yardstick: the one on which the workloads'
//! estimates of their time were made, two virtual cores of an Intel Xeon of 2.5 GHz.
//! It has nothing to do with the core that systems' speeds are relative to.

use std::hint::black_box;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// What the task takes on the yardstick, in seconds.
const YARDSTICK: f64 = 0.0043;

/// Entries of the table, a power of two: 256 KiB, which a core's own cache holds. What a task in
/// memory takes differs by more than twice from hour to hour on one virtual machine, and what
/// analytics take hardly does.
const ENTRIES: usize = 1 << 16;

/// How often the task is timed, of which the least counts: all else is what disturbed it, for
/// up to a second at a time, and so in bursts with pauses, until two of them agree.
const BURSTS: usize = 4;
/// They do where they differ by no greater share.
const AGREE: f64 = 0.005;
const ROUNDS: usize = 50;
const PAUSE: Duration = Duration::from_millis(500);

/// Steps of the task.
const STEPS: u64 = 1 << 19;

/// How long this machine takes for what the yardstick does in a second. Measured once in a
/// process, which takes from one to two and a half seconds.
pub fn pace() -> f64 {
    static PACE: OnceLock<f64> = OnceLock::new();
    *PACE.get_or_init(|| {
        let mut table = vec![1_u32; ENTRIES];
        let mut least = f64::INFINITY;
        for burst in 0..BURSTS {
            if burst > 0 {
                thread::sleep(PAUSE);
            }
            let this = (0..ROUNDS).map(|_| seconds(&mut table)).fold(f64::INFINITY, f64::min);
            let agree = (this / least - 1.0).abs() < AGREE;
            least = least.min(this);
            if agree {
                break;
            }
        }
        least / YARDSTICK
    })
}

/// What the task takes with a table.
fn seconds(table: &mut [u32]) -> f64 {
    let began = Instant::now();
    task(table);
    began.elapsed().as_secs_f64()
}

/// What analytics are made of: arithmetic on 64 bits, and memory out of order. Compiled by
/// itself, and for a table of any length: else it is another task wherever it is called.
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
