//! Shaping by a token bucket (tc-tbf(8), net/sched/sch_tbf.c).
//!
//! The bucket must be small. Measured with a bucket of 64 KB at 1 Gbit/s: 64 KB
//! sent after a pause took 71–93 µs instead of the wire's 549 µs, while a long
//! stream had 956 Mbit/s. So a large bucket shapes nothing but streams. With a
//! bucket of one frame and segmentation off, the same message took 0.95–1.02 of the
//! wire's time at 62.5 Mbit/s. But a timer must fire whenever the bucket is empty,
//! so that at 1 Gbit/s only 486 Mbit/s were sent. With two frames, one is sent while
//! the timer of the next is late.

use crosstalk_core::Fault;
use crosstalk_core::units::{BitRate, Bytes};

use super::link::index;
use super::socket::Netlink;
use super::wire::Message;

/// The number of whole frames in a bucket.
pub const FRAMES_IN_BURST: u64 = 2;

/// A frame of Ethernet with the usual MTU: 1,500 B and a header of 14 B.
const FRAME: u64 = 1_514;

/// What a host queues before its card: 1,000 frames, Linux's default for Ethernet (`txqueuelen`).
const HOST_QUEUE: Bytes = Bytes(1_000 * FRAME);

/// The scheduler's tick in nanoseconds (`PSCHED_SHIFT` = 6).
const TICK_NS: f64 = 64.0;

const PARAMETERS: u16 = 1;
const RATE64: u16 = 4;
const BURST: u16 = 6;

/// The root discipline of a device (include/uapi/linux/pkt_sched.h).
const TC_H_ROOT: u32 = 0xffff_ffff;

/// `TC_LINKLAYER_ETHERNET`: no cell rounding, so no rate table is needed.
const ETHERNET: u8 = 1;

/// The shape of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// The rate of frames, including headers.
    pub rate: BitRate,
    /// The most bytes that pass at once after a pause.
    pub burst: Bytes,
    /// The most bytes that wait. Further frames are lost.
    pub queue: Bytes,
}

impl Shape {
    /// A bucket of two frames, and a queue of 20 ms at that rate, about a round trip as in
    /// switches, but at least 128 KiB.
    pub fn new(rate: BitRate) -> Self {
        let queue = (rate.0 / 8.0 * 0.02) as u64;
        Shape { rate, burst: Bytes(FRAMES_IN_BURST * FRAME), queue: Bytes(queue.clamp(128 << 10, 8 << 20)) }
    }

    /// The same on the sender's side of a link: a host queues [`HOST_QUEUE`] before its card, and does not lose what
    /// its own programs send.
    pub fn of_host(rate: BitRate) -> Self {
        let port = Shape::new(rate);
        Shape { queue: port.queue.max(HOST_QUEUE), ..port }
    }

    /// `struct tc_tbf_qopt`: rate, peak rate (none), limit, buffer in ticks, MTU of the peak rate.
    fn parameters(&self) -> [u8; 36] {
        let bytes_a_second = (self.rate.0 / 8.0).max(1.0);
        let buffer = (self.burst.0 as f64 / bytes_a_second * 1e9 / TICK_NS).min(f64::from(u32::MAX));
        let mut parameters = [0; 36];
        parameters[1] = ETHERNET;
        // A rate that 32 bits cannot hold is given by RATE64, and this field is then at its largest.
        let rate = bytes_a_second.min(f64::from(u32::MAX)) as u32;
        parameters[8..12].copy_from_slice(&rate.to_ne_bytes());
        parameters[24..28].copy_from_slice(&(self.queue.0 as u32).to_ne_bytes());
        parameters[28..32].copy_from_slice(&(buffer as u32).to_ne_bytes());
        parameters
    }
}

impl Netlink {
    /// Shapes what `device` sends, replacing its former shape.
    ///
    /// # Errors
    /// When the device is not there, or the kernel has no TBF.
    pub fn shape(&mut self, device: &str, shape: &Shape) -> Result<(), Fault> {
        let bytes_a_second = (shape.rate.0 / 8.0).max(1.0) as u64;
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        let message = Message::new(libc::RTM_NEWQDISC, flags, &root_header(index(device)?))
            .with_text(libc::TCA_KIND, "tbf")
            .nest(libc::TCA_OPTIONS, |options| {
                let options = options.with(PARAMETERS, &shape.parameters());
                let options = options.with(BURST, &(shape.burst.0 as u32).to_ne_bytes());
                if bytes_a_second > u64::from(u32::MAX) {
                    options.with(RATE64, &bytes_a_second.to_ne_bytes())
                } else {
                    options
                }
            });
        self.request(message, &format!("shape {device}"))
    }

    /// Removes the shape of `device`.
    ///
    /// # Errors
    /// When the device is not there, or was not shaped.
    pub fn unshape(&mut self, device: &str) -> Result<(), Fault> {
        let message = Message::new(libc::RTM_DELQDISC, 0, &root_header(index(device)?));
        self.request(message, &format!("remove the shaping of {device}"))
    }
}

/// `struct tcmsg` for the root discipline of a device.
fn root_header(index: u32) -> [u8; 20] {
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[12..16].copy_from_slice(&TC_H_ROOT.to_ne_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_holds_two_frames_whatever_the_rate() {
        for rate in [1e6, 1e9, 100e9] {
            assert_eq!(Shape::new(BitRate(rate)).burst, Bytes(3_028));
        }
    }

    #[test]
    fn the_queue_holds_20_ms_within_bounds() {
        assert_eq!(Shape::new(BitRate(1e9)).queue, Bytes(2_500_000));
        assert_eq!(Shape::new(BitRate(1e6)).queue, Bytes(128 << 10));
        assert_eq!(Shape::new(BitRate(100e9)).queue, Bytes(8 << 20));
    }

    #[test]
    fn a_host_queues_a_thousand_frames_at_least() {
        assert_eq!(Shape::of_host(BitRate(20e6)).queue, Bytes(1_514_000));
        assert_eq!(Shape::of_host(BitRate(100e9)), Shape::new(BitRate(100e9)));
    }

    #[test]
    fn the_buffer_is_the_burst_s_time_in_ticks_of_64_ns() {
        // 3,028 B at 1 Gbit/s take 24,224 ns, that is 378 ticks.
        let parameters = Shape::new(BitRate(1e9)).parameters();
        assert_eq!(u32::from_ne_bytes(parameters[28..32].try_into().expect("four bytes")), 378);
        assert_eq!(u32::from_ne_bytes(parameters[8..12].try_into().expect("four bytes")), 125_000_000);
    }
}
