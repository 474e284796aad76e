//! The server's load, and its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::http::Refusal;

/// The most bytes of bodies in memory; further requests get an error.
pub const MOST_BODY_BYTES: u64 = 64 << 20;

/// The requests and programs that the server handles now.
#[derive(Default)]
pub struct Load {
    /// Requests, with those that get an error.
    pub requests: AtomicUsize,
    /// Programs that are being sent.
    pub programs: AtomicUsize,
    /// Bytes of the bodies in memory.
    pub bytes: AtomicU64,
}

/// A request or program that is counted until this is dropped.
pub struct Admission {
    load: Arc<Load>,
    number: fn(&Load) -> &AtomicUsize,
    /// How many there were before it.
    pub others: usize,
}

impl Admission {
    /// Counts it; `None` where there are `most` already.
    pub fn new(load: &Arc<Load>, number: fn(&Load) -> &AtomicUsize, most: usize) -> Option<Self> {
        let others = number(load).fetch_add(1, Ordering::SeqCst);
        let counted = Admission { load: Arc::clone(load), number, others };
        (others < most).then_some(counted)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        (self.number)(&self.load).fetch_sub(1, Ordering::SeqCst);
    }
}

/// The memory of a body, which is counted until this is dropped.
pub struct BodyReservation<'a>(&'a AtomicU64, u64);

impl<'a> BodyReservation<'a> {
    /// Reserves so many bytes; the refusal says that there are too many already.
    pub fn new(all: &'a AtomicU64, bytes: u64) -> Result<Self, Refusal> {
        let held = BodyReservation(all, bytes);
        if all.fetch_add(bytes, Ordering::SeqCst) + bytes > MOST_BODY_BYTES {
            return Err(Refusal(503, "too much is under way".into()));
        }
        Ok(held)
    }
}

impl Drop for BodyReservation<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}
