//! The guard's own probe: a fixed piece of work, a few tens of microseconds long, whose time tells
//! what a neighbour does to computing, to loads from memory, and to reading it in order.
//!
//! Loads follow a ring through more memory than most caches have (the last-level cache twice, up to 64 MiB), in an order that cannot be foreseen; each
//! probe goes on where the one before ended. Of several batches the two in the middle count.

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_host::pages::Fresh;

use super::sense::Probe;

/// Numbers in a cache line.
const PLACES: usize = 16;
/// The least and the most lines of the ring: 8 and 64 MiB.
const LINES: [usize; 2] = [1 << 17, 1 << 20];
/// Batches of each kind.
const BATCHES: usize = 4;
/// Loads in a batch: about 6 µs.
const LOADS: usize = 64;
/// Lines that are read in order in a batch: 32 KiB, about 4 µs.
const RUN: usize = 512;
/// Steps of computing in a batch: about 4 µs.
const STEPS: u64 = 2048;

/// What it works on.
#[derive(Debug)]
pub(super) struct Prober {
    memory: Fresh,
    lines: usize,
    at: u32,
    from: usize,
}

impl Prober {
    /// Makes the ring, which takes some tens of milliseconds once.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub(super) fn new() -> Result<Self, Fault> {
        let cache = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").unwrap_or_default();
        Self::with(lines(&cache))
    }

    fn with(lines: usize) -> Result<Self, Fault> {
        let mut memory = Fresh::new(lines * PLACES)?;
        for line in 0..lines {
            memory[line * PLACES] = (next(line, lines) * PLACES) as u32;
        }
        Ok(Prober { memory, lines, at: 0, from: 0 })
    }

    /// Takes it.
    pub(super) fn take(&mut self) -> Probe {
        // So that the caches of this core have what is not to be measured.
        self.compute();
        let compute = timed(|| self.compute());
        let latency = timed(|| self.chase());
        let bandwidth = timed(|| self.stream());
        Probe { compute, latency, bandwidth }
    }

    fn chase(&mut self) {
        let mut at = self.at;
        for _ in 0..LOADS {
            at = self.memory[at as usize];
        }
        self.at = black_box(at);
    }

    fn stream(&mut self) {
        let from = self.from * PLACES;
        let sum = self.memory[from..from + RUN * PLACES]
            .iter()
            .fold(0_u32, |sum, number| sum.wrapping_add(*number));
        black_box(sum);
        self.from = (self.from + RUN) % self.lines;
    }

    /// Four chains that a core with nothing else to do runs side by side.
    fn compute(&self) {
        let mut chains = [1_u64, 2, 3, 4];
        for step in 0..STEPS {
            for chain in &mut chains {
                *chain = chain.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step;
            }
        }
        black_box(chains);
    }
}

/// Twice the last-level cache, whose size is written as in `33792K`.
fn lines(cache: &str) -> usize {
    let kibibytes = cache.trim().trim_end_matches('K').parse::<usize>().unwrap_or(16 << 10);
    let lines = ((2 * kibibytes.min(1 << 20)) << 10) / (4 * PLACES);
    lines.next_power_of_two().clamp(LINES[0], LINES[1])
}

/// The line after a line: a linear congruence that goes through all of a power of two (Hull and
/// Dobell 1962: an odd addend, a factor that is 1 modulo 4).
fn next(line: usize, lines: usize) -> usize {
    (line.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)) & (lines - 1)
}

/// The mean of the two in the middle of four batches, in seconds.
fn timed(mut batch: impl FnMut()) -> f64 {
    let mut times = [0.0; BATCHES];
    for time in &mut times {
        let began = Instant::now();
        batch();
        *time = began.elapsed().as_secs_f64();
    }
    times.sort_by(f64::total_cmp);
    (times[1] + times[2]) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_goes_through_every_line_and_back() {
        let lines = 1 << 12;
        let (mut at, mut seen) = (0, vec![false; lines]);
        for _ in 0..lines {
            assert!(!std::mem::replace(&mut seen[at], true));
            at = next(at, lines);
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn it_is_larger_than_the_cache() {
        assert_eq!(lines("33792K\n"), LINES[1]);
        assert_eq!(lines("8192K"), 1 << 18);
        assert_eq!(lines("1024K"), LINES[0]);
        assert_eq!(lines(""), 1 << 19);
        assert_eq!(lines("99999999999999999999K"), 1 << 19);
    }

    #[test]
    fn every_kind_takes_time() {
        let mut prober = Prober::with(LINES[0]).expect("fits");
        for _ in 0..300 {
            let probe = prober.take();
            assert!(probe.times().iter().all(|time| *time > 1e-7 && *time < 1.0), "{probe:?}");
        }
        assert!(prober.from < prober.lines);
    }
}
