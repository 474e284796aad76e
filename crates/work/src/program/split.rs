//! What a program used, and where its run time went.
//!
//! Threads overlap, so that their processor time and queueing time, added up, may exceed the run time. The
//! kernel's sums are exact; how many threads were busy (running, or ready to run) at once is sampled some
//! fifty times a second. With `n` busy threads at once, on average over the time in which any is busy,
//!
//! ```text
//! busy time         = (processor time + queueing time) / n
//!   computing         = processor time / n
//!   waiting for one   = queueing time / n
//! waiting           = run time − busy time
//! ran in parallel   = processor time − computing      (on top of the run time, in processor-seconds)
//! ```
//!
//! The first line is an identity: busy threads summed over time are processor time and queueing time. So the
//! split is exact where `n` is: for a program that does one thing at a time (`n` = 1), and for one whose threads
//! all compute and wait together. In between it has the error of a sample. The three parts add up to the run
//! time, and none is negative: `n` is at least so large that the busy time fits into the run time.

use std::process::ExitStatus;
use std::time::Duration;

use crate::peer::TICK;

/// How a program ended and what it used. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgramAccount {
    /// How it ended.
    pub status: ExitStatus,
    /// From before its start to its end.
    pub wall: f64,
    /// Processor time of all its threads and processes, user and system.
    pub cpu: f64,
    /// How long its threads were ready to run without a processor, at least; `None` where the kernel does not tell.
    pub queued: Option<f64>,
    /// How many threads were busy at once, on average over the time in which any was: at least 1.
    pub at_once: f64,
    /// What starting a process took.
    pub start: f64,
}

/// A program's run time in parts that add up to it, and what ran in parallel. Times in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTimeSplit {
    /// Busy, and on a processor.
    pub compute: f64,
    /// Busy, but without a processor.
    pub queue: f64,
    /// No thread was busy.
    pub wait: f64,
    /// Processor time on top of `compute`.
    pub parallel: f64,
}

impl ProgramAccount {
    /// The run time in parts, which add up to it.
    pub fn split(&self) -> RunTimeSplit {
        let queued = self.queued.unwrap_or(0.0);
        let at_once = self.at_once.max((self.cpu + queued) / self.wall.max(f64::MIN_POSITIVE)).max(1.0);
        let (compute, queue) = (self.cpu / at_once, queued / at_once);
        let wait = (self.wall - compute - queue).max(0.0);
        RunTimeSplit { compute, queue, wait, parallel: self.cpu - compute }
    }
}

/// When to sample a program's threads: often, but at little cost.
#[derive(Debug, Default)]
pub struct SampleInterval {
    taken: u32,
    last: Duration,
}

impl SampleInterval {
    /// The shortest mean interval.
    const OFTEN: Duration = Duration::from_millis(20);
    /// A sample takes at most one part in so many of the interval.
    const SHARE: u32 = 200;

    /// Notes how long a sample took.
    pub fn note_cost(&mut self, time: Duration) {
        self.taken = self.taken.wrapping_add(1);
        self.last = time;
    }

    /// Time until the next sample: from half of the mean interval to one and a half, spread evenly, so that
    /// samples do not keep step with a program that does something at a fixed interval.
    pub fn next(&self) -> Duration {
        const GOLDEN: f64 = 0.618_033_988_749_895;
        let mean = (self.last * Self::SHARE).clamp(Self::OFTEN, TICK);
        mean.mul_f64(0.5 + (f64::from(self.taken) * GOLDEN).fract())
    }
}

#[cfg(test)]
mod tests;
