//! What carries the messages over a wire, or in place of one.

use serde::{Deserialize, Serialize};

use crosstalk_comm::embedded::EmbeddedProgram;
use crosstalk_comm::{dpdk, rdma};
use crosstalk_core::need::Need;
use crosstalk_host::user;
use crosstalk_observe::redirect;

/// What carries the frames between the endpoints of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// UDP through the kernel's sockets.
    Udp,
    /// AF_XDP, in copy mode.
    AfXdp,
    /// DPDK's driver over packet sockets.
    DpdkAfPacket,
    /// DPDK's driver over AF_XDP.
    DpdkAfXdp,
    /// DPDK's driver over shared memory.
    DpdkMemif,
    /// Rings in shared memory.
    Shared,
    /// DPDK's drivers of real cards.
    DpdkPci,
    /// RDMA verbs.
    Rdma,
}

impl Transport {
    /// Every one; the first is the default.
    pub const ALL: [Transport; 8] = [
        Transport::Udp,
        Transport::AfXdp,
        Transport::DpdkAfPacket,
        Transport::DpdkAfXdp,
        Transport::DpdkMemif,
        Transport::Shared,
        Transport::DpdkPci,
        Transport::Rdma,
    ];

    /// Its name in a study file.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "udp",
            Transport::AfXdp => "af-xdp",
            Transport::DpdkAfPacket => "dpdk-af-packet",
            Transport::DpdkAfXdp => "dpdk-af-xdp",
            Transport::DpdkMemif => "dpdk-memif",
            Transport::Shared => "shared",
            Transport::DpdkPci => "dpdk-pci",
            Transport::Rdma => "rdma",
        }
    }

    /// DPDK's driver, if DPDK carries the messages.
    pub fn dpdk_driver(self) -> Option<&'static str> {
        match self {
            Transport::DpdkAfPacket => Some("net_af_packet"),
            Transport::DpdkAfXdp => Some("net_af_xdp"),
            Transport::DpdkMemif => Some("net_memif"),
            Transport::DpdkPci => Some("pci"),
            _ => None,
        }
    }

    /// The program in C that runs the endpoints, if this program does not.
    pub fn c_program(self) -> Option<&'static EmbeddedProgram> {
        match self {
            Transport::Rdma => Some(&rdma::PROGRAM),
            _ => self.dpdk_driver().map(|_| &dpdk::PROGRAM),
        }
    }

    /// Whether a wire is made for it. Other transports use memory, or devices that are there.
    fn is_wired(self) -> bool {
        matches!(self, Transport::Udp | Transport::AfXdp | Transport::DpdkAfPacket | Transport::DpdkAfXdp)
    }

    /// What it needs of a machine.
    pub fn needs(self) -> Vec<Need> {
        let carrier = match self {
            Transport::Udp | Transport::Shared => Need::found(self.name(), "the kernel's"),
            Transport::AfXdp => redirect::need(),
            Transport::Rdma => rdma::need(),
            _ => dpdk::need(),
        };
        let mut needs = vec![carrier];
        let root = |what: &str, consequence: &str| match user::is_root() {
            true => Need::found(what, "as root"),
            false => Need::missing(what, consequence, "run as root"),
        };
        if self.is_wired() {
            needs.push(root("a wire (veth)", "a pair of joined devices cannot be made"));
        }
        if self == Transport::DpdkPci {
            needs.push(root("network cards", "they cannot be given to DPDK"));
        }
        needs
    }
}
