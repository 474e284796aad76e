//! What connects the two endpoints.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use crosstalk_comm::rdma;
use crosstalk_comm::ring::create_memory;
use crosstalk_core::Fault;
use crosstalk_host::process::fresh_mark;

use super::cards::NetworkCards;
use super::spec::Spec;
use super::transport::Transport;
use super::veth::VethPair;

/// What connects the two endpoints: virtual devices, network cards or shared memory.
pub enum Link {
    /// A wire that was made for them.
    Wire(VethPair),
    /// Shared memory.
    Memory(OwnedFd),
    /// An abstract name in the network namespace (unix(7)).
    Name(String),
    /// RDMA devices, and such a name at which their endpoints meet.
    Devices([String; 2], String),
    /// Network cards.
    Cards(Box<NetworkCards>),
}

impl Link {
    /// Makes or finds what the transport of `spec` needs.
    ///
    /// # Errors
    /// An environment fault that says what is missing.
    pub fn create(spec: &Spec) -> Result<Self, Fault> {
        // Another process in this network namespace must not guess it.
        let name = || fresh_mark().map(|mark| format!("crosstalk-{mark}"));
        Ok(match spec.transport {
            Transport::Shared => {
                let memory = create_memory()
                    .map_err(|e| Fault::environment(format!("cannot make shared memory: {e}")))?;
                Link::Memory(memory)
            }
            Transport::DpdkMemif => Link::Name(name()?),
            Transport::DpdkPci => {
                let devices = spec
                    .devices
                    .as_ref()
                    .ok_or_else(|| Fault::usage("expected two cards in `devices`, found none"))?;
                Link::Cards(Box::new(NetworkCards::bind(devices)?))
            }
            Transport::Rdma => {
                let first = || rdma::active_devices().into_iter().next().map(|first| [first.clone(), first]);
                let devices = spec.devices.clone().or_else(first);
                let devices = devices.ok_or_else(|| {
                    Fault::environment("no port of an RDMA device is active").remedy(rdma::REMEDY)
                })?;
                Link::Devices(devices, name()?)
            }
            _ => Link::Wire(VethPair::new()?),
        })
    }

    /// Where each endpoint finds it, as the transport names it.
    pub fn endpoint_paths(&self) -> [PathBuf; 2] {
        match self {
            Link::Wire(pair) => pair.paths(),
            Link::Memory(file) => {
                let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
                [path.clone().into(), path.into()]
            }
            Link::Name(name) => [name.into(), name.into()],
            Link::Devices(devices, name) => {
                devices.each_ref().map(|device| format!("{name},{device}").into())
            }
            Link::Cards(cards) => cards.addresses().map(Into::into),
        }
    }
}
