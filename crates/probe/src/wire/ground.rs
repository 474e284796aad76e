//! The wire: two devices that are joined to each other (veth(4)), each in a network
//! namespace of its own, as the kernel hands over in memory what both ends of are
//! addresses of one namespace.
//!
//! Namespaces and devices live as long as the files that are open on them, and the
//! processes in them: nothing is left to be undone.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::carrier;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Socket;

/// What both devices are called.
pub const DEVICE: &str = "wire";

/// The two ends' addresses.
pub const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 78, 0, 1), Ipv4Addr::new(10, 78, 0, 2)];

/// The two ends' hardware addresses, which nobody else has (IEEE 802: locally administered).
pub const HARDWARE: [[u8; 6]; 2] = [[2, 0, 10, 78, 0, 1], [2, 0, 10, 78, 0, 2]];

/// How long the kernel may take until the wire carries frames.
const CARRIER: Duration = Duration::from_secs(10);

/// Bits of the two ends' network.
const PREFIX: u8 = 30;

/// The two ends' namespaces.
pub struct Ground {
    ends: [File; 2],
}

impl Ground {
    /// Makes the wire. The caller stays where it is.
    ///
    /// # Errors
    /// An environment fault that says what is refused, and why.
    pub fn new() -> Result<Self, Fault> {
        // Namespaces are a thread's own: this one ends.
        let made = thread::spawn(|| {
            let ends = [fresh()?, fresh()?];
            let mut second = Socket::open()?;
            second.veth(DEVICE, HARDWARE[1], DEVICE, ends[0].as_fd())?;
            begin(&mut second, 1)?;
            namespace::join(&ends[0])?;
            let mut first = Socket::open()?;
            first.hardware(DEVICE, HARDWARE[0])?;
            begin(&mut first, 0)?;
            for end in &ends {
                namespace::join(end)?;
                carrier::wait(DEVICE, CARRIER)?;
            }
            Ok(Ground { ends })
        });
        made.join().map_err(|_| Fault::environment("the thread that makes the wire broke off"))?
    }

    /// Where other processes of this process's user find the namespaces.
    pub fn paths(&self) -> [PathBuf; 2] {
        self.ends.each_ref().map(|end| format!("/proc/{}/fd/{}", std::process::id(), end.as_raw_fd()).into())
    }
}

/// A new network namespace, which the calling thread enters.
fn fresh() -> Result<File, Fault> {
    if !namespace::is_root() {
        return Err(
            Fault::environment("a wire between two network namespaces takes root").remedy("run as root")
        );
    }
    namespace::enter(Kinds::NET)?;
    let path = "/proc/thread-self/ns/net";
    File::open(path).map_err(|e| Fault::environment(e.to_string()).at(path))
}

/// Switches the end on, and tells it where the other one is.
fn begin(netlink: &mut Socket, end: usize) -> Result<(), Fault> {
    netlink.address(DEVICE, ADDRESSES[end], PREFIX)?;
    netlink.up(DEVICE)?;
    netlink.neighbour(DEVICE, ADDRESSES[1 - end], HARDWARE[1 - end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_datagram_takes_the_wire() {
        if !namespace::is_root() {
            eprintln!("skipped: a wire is made by root");
            return;
        }
        let ground = Ground::new().expect("makes");
        let [near, far] = ground.paths();
        let far = thread::spawn(move || {
            namespace::join(&File::open(far).expect("opens")).expect("enters");
            let socket = UdpSocket::bind((ADDRESSES[1], 4000)).expect("binds");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("sets");
            move || {
                let mut into = [0; 8];
                let (_, from) = socket.recv_from(&mut into).expect("comes");
                (into, from)
            }
        });
        let receive = far.join().expect("binds");
        thread::spawn(move || {
            namespace::join(&File::open(near).expect("opens")).expect("enters");
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
