//! Frames one after the other, without waiting for any: how many a second arrive.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use super::messages::Messages;
use super::port::Port;

/// Frames that are handed over at once where that is possible.
const BURST: usize = 32;

/// How long the first frame is waited for,
const START: Duration = Duration::from_secs(20);

/// and after how much silence there are no more.
const SILENCE: Duration = Duration::from_millis(300);

/// What was sent, or has arrived.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stream {
    /// How many frames.
    pub frames: u64,
    /// How many a second, from the first to the last.
    pub rate: f64,
}

/// Sends for so long.
pub fn flood<P: Port>(port: P, size: usize, duration: Duration) -> Result<Stream, Fault> {
    let mut messages = Messages::new(port, size);
    let (began, mut frames) = (Instant::now(), 0);
    while began.elapsed() < duration {
        frames += messages.put_many(BURST)? as u64;
    }
    Ok(Stream { frames, rate: frames as f64 / began.elapsed().as_secs_f64() })
}

/// Counts what comes, asking `spins` times before looking at the clock.
pub fn count<P: Port>(port: P, size: usize, spins: usize) -> Result<Stream, Fault> {
    let mut messages = Messages::new(port, size);
    let waits = Instant::now();
    let (mut frames, mut at_first, mut first, mut last) = (0, 0, waits, waits);
    loop {
        let mut came = 0;
        for _ in 0..spins {
            came += u64::from(messages.take()?);
        }
        let now = Instant::now();
        if came > 0 && frames == 0 {
            (at_first, first) = (came, now);
        }
        if came > 0 {
            (frames, last) = (frames + came, now);
        }
        let patience = if frames == 0 { START } else { SILENCE };
        if now - last > patience {
            let seconds = (last - first).as_secs_f64().max(f64::MIN_POSITIVE);
            return Ok(Stream { frames, rate: (frames - at_first) as f64 / seconds });
        }
    }
}
