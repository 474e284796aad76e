//! Counters of what a node has sent on its links: `/proc/net` of its network namespace (proc(5), Linux's
//! `Documentation/networking/snmp_counter.rst`).
//!
//! TCP has no boundaries between messages. The last segment of a message is usually not full. So the number
//! of messages is estimated as the segments with data, less those that the data would fill. A small message
//! counts as one, a large one as one or sometimes less, and small ones that TCP sends together as one.

use std::fs;

/// Bytes and packets that this network namespace has sent since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkCounters {
    /// TCP segments and UDP datagrams with data.
    data: f64,
    /// Frames on every device but the loopback.
    frames: f64,
    /// Their bytes, headers included.
    bytes: f64,
}

/// Headers of a frame: Ethernet 14 B, IPv4 20, TCP 20 and its time stamps 12.
const HEADERS: f64 = 66.0;
/// Bytes of data in a full segment where the MTU is 1500 B.
const FULL: f64 = 1_448.0;

impl LinkCounters {
    /// The counters now; `None` where the kernel does not report them.
    pub fn now() -> Option<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/net/{name}")).ok();
        Self::parse(&read("netstat")?, &read("snmp")?, &read("dev")?)
    }

    fn parse(netstat: &str, snmp: &str, dev: &str) -> Option<Self> {
        let data = counter(netstat, "TcpExt:", "TCPOrigDataSent")? + counter(snmp, "Udp:", "OutDatagrams")?;
        let (mut frames, mut bytes) = (0.0, 0.0);
        for (name, counts) in dev.lines().filter_map(|line| line.split_once(':')) {
            let counts: Vec<f64> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            if name.trim() != "lo" {
                // The first eight columns are of received frames.
                bytes += counts.get(8)?;
                frames += counts.get(9)?;
            }
        }
        Some(LinkCounters { data, frames, bytes })
    }

    /// What was sent since `before`.
    pub fn since(self, before: Self) -> Self {
        LinkCounters {
            data: self.data - before.data,
            frames: self.frames - before.frames,
            bytes: self.bytes - before.bytes,
        }
    }

    /// Bytes of data, without headers.
    pub fn payload_bytes(&self) -> f64 {
        (self.bytes - HEADERS * self.frames).max(0.0)
    }

    /// The estimated number of messages.
    pub fn messages(&self) -> f64 {
        // Segments on the loopback have no frames here.
        let data = self.data.min(self.frames);
        (data - self.payload_bytes() / FULL).max(data.min(1.0))
    }
}

/// A counter of a table with its names in the first line and its numbers in the second.
fn counter(text: &str, table: &str, name: &str) -> Option<f64> {
    let mut lines = text.lines().filter(|line| line.starts_with(table));
    let place = lines.next()?.split_whitespace().position(|word| word == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive  |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0
  eth0: 9 9 0 0 0 0 0 0 13000 100 0 0 0 0 0 0";

    #[test]
    fn the_kernel_s_tables_are_read() {
        let netstat = "TcpExt: A TCPOrigDataSent B\nTcpExt: 1 98 3\nIpExt: C\nIpExt: 4";
        let snmp = "Udp: InDatagrams OutDatagrams\nUdp: 7 2\n";
        let counters = LinkCounters::parse(netstat, snmp, DEV);
        assert_eq!(counters, Some(LinkCounters { data: 100.0, frames: 100.0, bytes: 13_000.0 }));
        assert_eq!(LinkCounters::parse("", snmp, DEV), None);
        assert!(LinkCounters::now().is_some(), "this kernel reports them");
    }

    #[test]
    fn messages_are_segments_that_are_not_full() {
        // 100 messages of 64 B; the same number of acknowledgements does not count.
        let small = LinkCounters { data: 100.0, frames: 200.0, bytes: 100.0 * 64.0 + 200.0 * HEADERS };
        assert!((95.0..=100.0).contains(&small.messages()), "{}", small.messages());
        // Four of 200 kB, each 138.1 segments.
        let large =
            LinkCounters { data: 4.0 * 139.0, frames: 4.0 * 139.0, bytes: 8e5 + 4.0 * 139.0 * HEADERS };
        assert!((3.0..=4.0).contains(&large.messages()), "{}", large.messages());
        let local = LinkCounters { data: 1e6, frames: 2.0, bytes: 2.0 * HEADERS };
        assert_eq!(local.messages(), 2.0);
        assert_eq!(LinkCounters::default().messages(), 0.0);
    }
}
