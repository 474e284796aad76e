//! STREAM's triad (McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995): `a = b + s·c`
//! on 64-bit floating-point numbers. Its rule: each array has at least four times the size of the caches.

use std::fs;

use crosstalk_host::facts::available_memory;

/// Bytes of the last-level cache where the kernel does not report it.
const USUAL_CACHE: usize = 32 << 20;
/// Bytes of an array at most, so that a run does not need gigabytes. It is enough for caches of 64 MiB.
const MOST: usize = 256 << 20;

/// The three arrays.
pub struct Triad {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Triad {
    /// Arrays of four times the cache.
    pub fn new() -> Self {
        let (cache, memory) =
            (largest_cache().unwrap_or(USUAL_CACHE), available_memory().unwrap_or(u64::MAX));
        Triad::of(array_bytes(cache, memory) / size_of::<f64>())
    }

    fn of(length: usize) -> Self {
        Triad { a: vec![0.0; length], b: vec![1.0; length], c: vec![2.0; length] }
    }

    /// Does all once; returns a checksum.
    pub fn pass(&mut self) -> u64 {
        let scalar = std::hint::black_box(3.0);
        for ((a, b), c) in self.a.iter_mut().zip(&self.b).zip(&self.c) {
            *a = *b + scalar * *c;
        }
        std::hint::black_box(&mut self.a);
        (self.a[0] + self.a[self.a.len() - 1]) as u64
    }

    /// Bytes that a pass reads and writes, as STREAM counts.
    pub fn bytes(&self) -> f64 {
        (3 * self.a.len() * size_of::<f64>()) as f64
    }
}

/// All three take a quarter of the available memory at most.
fn array_bytes(cache: usize, memory: u64) -> usize {
    (4 * cache).min(MOST).min(usize::try_from(memory / 12).unwrap_or(MOST)).max(1 << 20)
}

/// The size of the largest cache of processor 0. Source: Documentation/ABI/testing/sysfs-devices-system-cpu.
fn largest_cache() -> Option<usize> {
    (0..8)
        .filter_map(|index| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
            parse_size(fs::read_to_string(path).ok()?.trim())
        })
        .max()
}

/// `32768K` in bytes.
fn parse_size(text: &str) -> Option<usize> {
    text.strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1024).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_computes_the_triad() {
        let mut triad = Triad::of(1000);
        assert_eq!(triad.pass(), 14);
        assert!(triad.a.iter().all(|a| *a == 7.0));
        assert_eq!(triad.bytes(), 24_000.0);
    }

    #[test]
    fn arrays_are_four_times_the_cache_up_to_a_bound() {
        assert_eq!(array_bytes(32 << 20, 1 << 40), 128 << 20);
        assert_eq!(array_bytes(1 << 30, 1 << 40), MOST);
        assert_eq!(array_bytes(32 << 20, 120 << 20), 10 << 20);
        assert_eq!(parse_size("32768K"), Some(32 << 20));
        assert_eq!((parse_size("0K"), parse_size("1M"), parse_size("")), (None, None, None));
    }
}
