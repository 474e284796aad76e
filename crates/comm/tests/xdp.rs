//! AF_XDP's rings against the kernel's own protocols: frames that are sent arrive as datagrams.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use crosstalk_comm::xdp::{LONGEST_FRAME, Xdp};
use crosstalk_host::netlink::Netlink;
use crosstalk_host::{carrier, namespace, user};

const DEVICE: &str = "xdp";
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 79, 0, 1), Ipv4Addr::new(10, 79, 0, 2)];
const HARDWARE: [[u8; 6]; 2] = [[2, 0, 10, 79, 0, 1], [2, 0, 10, 79, 0, 2]];
const PORT: u16 = 4791;

/// A datagram in a frame from device 0 to device 1 (IEEE 802.3, RFC 791, RFC 768).
fn frame(payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0];
    ip.extend((28 + payload.len() as u16).to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(ADDRESSES[0].octets());
    ip.extend(ADDRESSES[1].octets());
    let sum: u32 = ip.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let udp = [4000_u16, PORT, 8 + payload.len() as u16, 0].map(u16::to_be_bytes).concat();
    [HARDWARE[1].as_slice(), &HARDWARE[0], &[0x08, 0x00], &ip, &udp, payload].concat()
}

/// The network namespaces of two connected devices; `None` if they cannot be created.
fn wire() -> Option<[File; 2]> {
    if !user::is_root() {
        eprintln!("skipped: only root can create a veth pair");
        return None;
    }
    let fresh = || {
        namespace::enter(namespace::Kinds::NET).expect("enters");
        File::open("/proc/thread-self/ns/net").expect("opens")
    };
    let ends = [fresh(), fresh()];
    let mut second = Netlink::open().expect("opens");
    second.create_veth(DEVICE, HARDWARE[1], DEVICE, ends[0].as_fd()).expect("makes");
    second.add_address(DEVICE, ADDRESSES[1], 30).expect("sets");
    second.switch_on(DEVICE).expect("begins");
    namespace::join(&ends[0]).expect("enters");
    let mut first = Netlink::open().expect("opens");
    first.set_hardware_address(DEVICE, HARDWARE[0]).expect("sets");
    first.switch_on(DEVICE).expect("begins");
    carrier::wait(DEVICE, Duration::from_secs(10)).expect("carries");
    Some(ends)
}

#[test]
fn frames_arrive_as_the_datagrams_that_they_are() {
    thread::spawn(|| {
        let Some([near, far]) = wire() else { return };
        namespace::join(&far).expect("enters");
        carrier::wait(DEVICE, Duration::from_secs(10)).expect("carries");
        let datagrams = UdpSocket::bind((ADDRESSES[1], PORT)).expect("binds");
        datagrams.set_read_timeout(Some(Duration::from_secs(5))).expect("sets");
        namespace::join(&near).expect("enters");
        let mut socket = match Xdp::open(DEVICE, None) {
            Ok(socket) => socket,
            Err(e) => return eprintln!("skipped: this kernel has no AF_XDP on a veth: {e}"),
        };
        let mut into = [0; 2048];
        // More frames than there are slots: slots are used again.
        for number in 0..10_000_u32 {
            let payload = [number.to_be_bytes().as_slice(), &[7; 18]].concat();
            socket.send(&frame(&payload)).expect("sends");
            let length = datagrams.recv(&mut into).expect("arrives");
            assert_eq!(&into[..length], payload);
        }
        let sent = socket.send_many(&frame(&[1; 22]), 8).expect("sends");
        assert!((1..=8).contains(&sent), "{sent}");
        for _ in 0..sent {
            assert_eq!(datagrams.recv(&mut into).expect("arrives"), 22);
        }
        let mut longest = frame(&vec![9; LONGEST_FRAME - 42]);
        assert_eq!(longest.len(), LONGEST_FRAME);
        socket.send(&longest).expect("sends");
        assert_eq!(datagrams.recv(&mut into).expect("arrives"), LONGEST_FRAME - 42);
        longest.push(0);
        assert_eq!(socket.send(&longest).expect_err("is too long").kind(), ErrorKind::InvalidInput);
        // No frames are redirected to the socket.
        assert_eq!(socket.receive(&mut into).expect_err("is empty").kind(), ErrorKind::WouldBlock);
    })
    .join()
    .expect("ends");
}

#[test]
fn a_device_that_does_not_exist_is_an_error() {
    assert!(Xdp::open("there-is-none", None).is_err());
}
