//! A stream of frames without replies: how many a second arrive.

use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use super::messages::Messages;
use super::port::Port;

/// Frames that are sent at once, if the port can.
const BURST: usize = 32;

/// How long to wait for the first frame.
const START: Duration = Duration::from_secs(20);

/// The silence after which a stream has ended.
const SILENCE: Duration = Duration::from_millis(300);

/// The number of frames that were sent or have arrived, and in what time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameCount {
    /// How many frames.
    pub frames: u64,
    /// How many a second, from the first to the last.
    pub rate: f64,
}

/// Sends frames for `duration`.
///
/// # Errors
/// Where the port fails.
pub fn send_frames<P: Port>(port: P, size: usize, duration: Duration) -> Result<FrameCount, Fault> {
    let mut messages = Messages::new(port, size);
    let (began, mut frames) = (Instant::now(), 0);
    while began.elapsed() < duration {
        frames += messages.send_many(BURST)? as u64;
    }
    Ok(FrameCount { frames, rate: frames as f64 / began.elapsed().as_secs_f64() })
}

/// Counts frames until the stream has ended; polls `spins` times between two reads of the clock.
///
/// # Errors
/// Where the port fails.
pub fn count_frames<P: Port>(port: P, size: usize, spins: usize) -> Result<FrameCount, Fault> {
    let mut messages = Messages::new(port, size);
    let began = Instant::now();
    let (mut frames, mut at_first, mut first, mut last) = (0, 0, began, began);
    loop {
        let mut received = 0;
        for _ in 0..spins {
            received += u64::from(messages.receive()?);
        }
        let now = Instant::now();
        if received > 0 && frames == 0 {
            (at_first, first) = (received, now);
        }
        if received > 0 {
            (frames, last) = (frames + received, now);
        }
        let patience = if frames == 0 { START } else { SILENCE };
        if now - last > patience {
            let seconds = (last - first).as_secs_f64().max(f64::MIN_POSITIVE);
            return Ok(FrameCount { frames, rate: (frames - at_first) as f64 / seconds });
        }
    }
}
