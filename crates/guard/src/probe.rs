//! The guard's own probe: a fixed piece of work, about a hundred microseconds long, whose time shows
//! what a neighbour does to computing, to loads from memory, and to copying it.
//!
//! It works on more memory than most caches have (the last-level cache twice, up to 64 MiB). Loads go through
//! the first half of it, each probe through the next mebibyte, along a ring in an order that cannot be foreseen,
//! which goes on where it ended there; that is copied, in order, into the second half. Of several batches the
//! two in the middle count.
//!
//! Copying, and not reading: whoever writes takes more of what a memory can do, and is slowed by more where others
//! copy (decision 34).
//!
//! The pages of a probe are found before time begins: how dear that is depends on how long ago the probe
//! before was taken, and that on whether background work ran (decision 31).

use std::fs;
use std::hint::black_box;
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_host::pages::UntouchedMemory;

use crosstalk_policy::Probe;

/// Numbers in a cache line.
const PLACES: usize = 16;
/// The least and the most lines in all: 8 and 64 MiB.
const LINES: [usize; 2] = [1 << 17, 1 << 20];
/// Lines of a window, a mebibyte: its pages fit what a core knows of addresses (1,024 and more in its second level).
const WINDOW: usize = 1 << 14;
/// Lines in a page of 4 KiB: what the host of a virtual machine has may be no larger, whatever ours are.
const PAGE: usize = 64;
/// Batches of each kind.
const BATCHES: usize = 4;
/// Loads in a batch: 10 to 20 µs.
const LOADS: usize = 128;
/// Lines that are copied in a batch: 64 KiB, 2 to 6 µs; fewer are done before a neighbour is felt.
const RUN: usize = 1024;
/// Steps of computing in a batch: about 4 µs.
const STEPS: u64 = 2048;

/// What it works on.
#[derive(Debug)]
pub(super) struct Prober {
    memory: UntouchedMemory,
    /// Where the ring of each window goes on.
    rings: Vec<u32>,
    /// The window that is next.
    window: usize,
    /// Which line of it is copied next.
    from: usize,
}

impl Prober {
    /// Makes the rings, which takes some tens of milliseconds once.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub(super) fn new() -> Result<Self, Fault> {
        let cache = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").unwrap_or_default();
        Self::with(lines(&cache))
    }

    fn with(lines: usize) -> Result<Self, Fault> {
        let mut memory = UntouchedMemory::new(lines * PLACES)?;
        for line in 0..lines / 2 {
            let first = line / WINDOW * WINDOW;
            memory[line * PLACES] = ((first + next(line - first, WINDOW)) * PLACES) as u32;
        }
        // The rest is there to be copied into, and must be there as much; last, so that caches hold that.
        memory[lines / 2 * PLACES..].fill(1);
        let rings = (0..lines / 2 / WINDOW).map(|window| (window * WINDOW * PLACES) as u32).collect();
        Ok(Prober { memory, rings, window: 0, from: 0 })
    }

    /// Takes it.
    pub(super) fn take(&mut self) -> Probe {
        // So that the caches of this core have what is not to be measured.
        self.compute();
        self.find();
        let compute = timed(|| self.compute());
        let latency = timed(|| self.chase());
        let bandwidth = timed(|| self.stream());
        self.next_window();
        Probe { compute, latency, bandwidth }
    }

    /// Every page of the window, and of where it is copied to, by one of its lines.
    fn find(&self) {
        let half = self.memory.len() / PLACES / 2;
        let to = (0..BATCHES * RUN / PAGE).map(|page| half + self.window * WINDOW + self.from + page * PAGE);
        let all = pages(self.window).chain(to);
        black_box(all.fold(0_u32, |sum, line| sum.wrapping_add(self.memory[line * PLACES])));
    }

    fn chase(&mut self) {
        let mut at = self.rings[self.window];
        for _ in 0..LOADS {
            at = self.memory[at as usize];
        }
        self.rings[self.window] = black_box(at);
    }

    fn stream(&mut self) {
        let from = (self.window * WINDOW + self.from) * PLACES;
        let to = self.memory.len() / 2 + from;
        self.memory.copy_within(from..from + RUN * PLACES, to);
        black_box(&self.memory);
        self.from = (self.from + RUN) % WINDOW;
    }

    /// Goes to the next window: the lines that are copied are the same ones of each, until all have been copied.
    fn next_window(&mut self) {
        self.window = (self.window + 1) % self.rings.len();
        if self.window > 0 {
            self.from = (self.from + WINDOW - BATCHES * RUN) % WINDOW;
        }
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

/// A line of each page of a window.
fn pages(window: usize) -> impl Iterator<Item = usize> {
    (0..WINDOW / PAGE).map(move |page| window * WINDOW + page * PAGE + page % PAGE)
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
    fn all_memory_is_gone_through_a_window_at_a_time() {
        let mut prober = Prober::with(LINES[0]).expect("fits");
        let windows = LINES[0] / 2 / WINDOW;
        let mut streamed = vec![false; LINES[0] / 2];
        for probe in 0..windows * WINDOW / (BATCHES * RUN) {
            let window = probe % windows;
            assert_eq!(prober.window, window);
            let (before, first) = (prober.rings.clone(), window * WINDOW + prober.from);
            assert!(!std::mem::replace(&mut streamed[first], true), "line {first} is copied again");
            prober.take();
            for (at, (before, after)) in before.iter().zip(&prober.rings).enumerate() {
                assert_eq!(before != after, at == window);
                assert_eq!(*after as usize / PLACES / WINDOW, at, "it has left its window");
            }
        }
        assert_eq!((prober.window, prober.from), (0, 0));
        let (rings, copy) = prober.memory.split_at(LINES[0] / 2 * PLACES);
        assert!(rings.chunks(PLACES).zip(copy.chunks(PLACES)).all(|(line, copy)| line[0] == copy[0]));
    }

    #[test]
    fn every_page_of_a_window_is_found_once() {
        let found: Vec<usize> = pages(3).map(|line| line / PAGE).collect();
        assert_eq!(found, (3 * WINDOW / PAGE..4 * WINDOW / PAGE).collect::<Vec<_>>());
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
    }
}
