//! What carries the messages between client and server.

use serde::{Deserialize, Serialize};

use crosstalk_comm::uring;
use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;

/// The largest UDP payload over IPv4: 65,535 bytes less the IP header of 20
/// and the UDP header of 8 (RFC 791, RFC 768).
pub const LARGEST_DATAGRAM: u64 = 65_507;

/// The largest message over other transports: it is held in memory.
pub const LARGEST_MESSAGE: u64 = 1 << 30;

/// The parameter `transport` of probes.
pub const TRANSPORT: Parameter = Parameter::new(
    "transport",
    "tcp",
    "`tcp`, `io-uring` (TCP through it), `udp`; on one host also `unix` (a socket), `pipe`, `shared` (memory)",
);

/// What carries a probe's messages between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A TCP connection without Nagle's delay.
    Tcp,
    /// The same through io_uring.
    IoUring,
    /// UDP datagrams, one a message.
    Udp,
    /// A Unix socket, on one host.
    Unix,
    /// A pipe in each direction, on one host.
    Pipe,
    /// Rings in shared memory, on one host.
    Shared,
}

impl Transport {
    /// Every one; the first is the default.
    const ALL: [Transport; 6] = [
        Transport::Tcp,
        Transport::IoUring,
        Transport::Udp,
        Transport::Unix,
        Transport::Pipe,
        Transport::Shared,
    ];

    /// Its name in a study file.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::IoUring => "io-uring",
            Transport::Udp => "udp",
            Transport::Unix => "unix",
            Transport::Pipe => "pipe",
            Transport::Shared => "shared",
        }
    }

    /// Reads the parameter `transport`.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        let chosen = params.choice("transport", &Transport::ALL.map(Transport::name))?;
        Ok(Transport::ALL.into_iter().find(|known| known.name() == chosen).unwrap_or(Transport::Tcp))
    }

    /// What it needs of a machine.
    pub fn need(self) -> Need {
        let name = self.name();
        if self != Transport::IoUring {
            return Need::found(name, "the kernel's");
        }
        match uring::check_available() {
            Ok(()) => Need::found(name, "the kernel's"),
            Err(e) => Need::missing(
                name,
                format!("messages through io_uring cannot be timed: {e}"),
                "sysctl kernel.io_uring_disabled=0; in a container, allow io_uring_setup(2)",
            ),
        }
    }

    /// Whether TCP connections carry the messages.
    pub fn is_tcp(self) -> bool {
        matches!(self, Transport::Tcp | Transport::IoUring)
    }

    /// Whether messages may be lost or duplicated.
    pub fn is_lossy(self) -> bool {
        self == Transport::Udp
    }

    /// Refuses the size of a message that this transport cannot carry.
    ///
    /// # Errors
    /// A usage fault with the sizes that it carries.
    pub fn check_size(self, size: Bytes) -> Result<(), Fault> {
        let largest = if self == Transport::Udp { LARGEST_DATAGRAM } else { LARGEST_MESSAGE };
        if (1..=largest).contains(&size.0) {
            return Ok(());
        }
        let fault = Fault::usage(format!(
            "a message over {} has 1 to {largest} bytes, found {}",
            self.name(),
            size.0
        ))
        .of_parameter("size");
        Err(match self {
            Transport::Udp => fault.remedy("take a smaller size, or transport = \"tcp\""),
            _ => fault.remedy("take a smaller size"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_has_at_most_65507_bytes() {
        assert_eq!(Transport::Udp.check_size(Bytes(65_507)), Ok(()));
        assert_eq!(Transport::Tcp.check_size(Bytes(65_508)), Ok(()));
        let fault = Transport::Udp.check_size(Bytes(65_508)).expect_err("is refused");
        assert!(fault.message.contains("65507") && fault.message.contains("65508"), "{fault}");
    }
}
