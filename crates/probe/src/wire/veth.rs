//! The wire: a pair of joined devices (veth(4)), each in a network namespace of its own. In one
//! namespace the kernel would deliver messages without the devices.
//!
//! Namespaces and devices live as long as the files that are open on them and the processes in
//! them: there is nothing to undo.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Netlink;
use crosstalk_host::{carrier, user};

/// The name of both devices of the pair.
pub const DEVICE: &str = "wire";

/// The IP addresses of the two endpoints.
pub const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];

/// The hardware addresses of the two endpoints (IEEE 802: locally administered).
pub const HARDWARE: [[u8; 6]; 2] = [[2, 0, 10, 78, 0, 1], [2, 0, 10, 78, 0, 2]];

/// The longest time until the wire carries frames.
const CARRIER: Duration = Duration::from_secs(10);

/// Bits of their network's prefix.
const PREFIX: u8 = 30;

/// A pair of connected virtual devices, each in a network namespace of its own.
pub struct VethPair {
    namespaces: [File; 2],
}

impl VethPair {
    /// Makes the pair. The calling thread stays in its namespace.
    ///
    /// # Errors
    /// An environment fault that says what the kernel refuses.
    pub fn new() -> Result<Self, Fault> {
        // A thread has its own namespaces: this one ends.
        let made = thread::spawn(|| {
            let namespaces = [new_namespace()?, new_namespace()?];
            let mut second = Netlink::open()?;
            second.create_veth(DEVICE, HARDWARE[1], DEVICE, namespaces[0].as_fd())?;
            configure(&mut second, 1)?;
            namespace::join(&namespaces[0])?;
            let mut first = Netlink::open()?;
            first.set_hardware_address(DEVICE, HARDWARE[0])?;
            configure(&mut first, 0)?;
            for namespace in &namespaces {
                namespace::join(namespace)?;
                carrier::wait(DEVICE, CARRIER)?;
            }
            Ok(VethPair { namespaces })
        });
        made.join().map_err(|_| Fault::environment("the thread that makes the wire panicked"))?
    }

    /// The namespaces' files, for other processes of the same user.
    pub fn paths(&self) -> [PathBuf; 2] {
        let path = |file: &File| format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()).into();
        self.namespaces.each_ref().map(path)
    }
}

/// A new network namespace, which the calling thread enters.
fn new_namespace() -> Result<File, Fault> {
    if !user::is_root() {
        return Err(
            Fault::environment("a wire between two network namespaces needs root").remedy("run as root")
        );
    }
    namespace::enter(Kinds::NET)?;
    let path = "/proc/thread-self/ns/net";
    File::open(path).map_err(|e| Fault::environment(e.to_string()).at(path))
}

/// Sets an endpoint's device up, with its address and its peer's hardware address.
fn configure(netlink: &mut Netlink, endpoint: usize) -> Result<(), Fault> {
    netlink.add_address(DEVICE, ADDRESSES[endpoint], PREFIX)?;
    netlink.switch_on(DEVICE)?;
    netlink.add_neighbour(DEVICE, ADDRESSES[1 - endpoint], HARDWARE[1 - endpoint])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_datagram_crosses_the_wire() {
        if !user::is_root() {
            eprintln!("skipped: making a wire needs root");
            return;
        }
        let pair = VethPair::new().expect("makes");
        let [first, second] = pair.paths();
        let receiver = thread::spawn(move || {
            namespace::join(&File::open(second).expect("opens")).expect("enters");
            let socket = UdpSocket::bind((ADDRESSES[1], 4000)).expect("binds");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("sets");
            move || {
                let mut into = [0; 8];
                let (_, from) = socket.recv_from(&mut into).expect("comes");
                (into, from)
            }
        });
        let receive = receiver.join().expect("binds");
        thread::spawn(move || {
            namespace::join(&File::open(first).expect("opens")).expect("enters");
            let socket = UdpSocket::bind((ADDRESSES[0], 0)).expect("binds");
            socket.send_to(b"on wire!", (ADDRESSES[1], 4000)).expect("sends");
        })
        .join()
        .expect("sends");
        let (bytes, from) = receive();
        assert_eq!(&bytes, b"on wire!");
        assert_eq!(from.ip(), ADDRESSES[0]);
    }
}
