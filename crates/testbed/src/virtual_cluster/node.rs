//! The first process of a node: makes the node's namespaces and its link, then
//! starts agents as it is told, and counts ended processes out.

use crosstalk_core::Fault;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Socket;
use crosstalk_host::packet::Packets;
use crosstalk_host::{Launcher, process};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use super::protocol::{Answer, ToNode};
use super::{meter, neighbours, pinned, shaping, switch};
use crate::agent;

/// The node's end of its link.
const DEVICE: &str = "eth0";

/// The cluster's network, of 16 bits.
const PREFIX: u8 = 16;

/// How long killed processes may take to go.
const GOODBYE: Duration = Duration::from_secs(5);

/// What a node is made from.
pub(super) struct Birth<'a> {
    pub(super) number: usize,
    /// How many nodes there are.
    pub(super) count: usize,
    /// What the switch's end of the link is called.
    pub(super) port: String,
    /// The switch's network namespace.
    pub(super) switch: BorrowedFd<'a>,
}

/// The life of a node: ends with its process, and all others of the node with it.
pub(super) fn live(birth: &Birth<'_>, launcher: &Launcher, orders: &Packets) -> ! {
    process::rename(&format!("crosstalk-{}", birth.number));
    let lived = match make(birth) {
        Ok((netlink, notes)) => {
            orders.send(&Answer::Done { notes }, None).and_then(|()| serve(netlink, launcher, orders))
        }
        Err(fault) => orders.send(&Answer::from(fault), None),
    };
    std::process::exit(if lived.is_ok() { 0 } else { 4 })
}

fn make(birth: &Birth<'_>) -> Result<(Socket, Vec<String>), Fault> {
    namespace::enter(Kinds::NET.and(Kinds::MOUNT).and(Kinds::UTS).and(Kinds::IPC))?;
    namespace::keep_mounts_private()?;
    let mut notes = Vec::new();
    if let Err(fault) = namespace::mount_proc() {
        notes.push(format!("nodes see the host's process table: {}", fault.message));
    }
    namespace::name_host(&format!("node{}", birth.number))?;
    notes.extend(pinned::pin());
    let mut netlink = Socket::open()?;
    netlink.up("lo")?;
    let address = switch::address(birth.number);
    netlink.veth(DEVICE, neighbours::hardware(address), &birth.port, birth.switch)?;
    netlink.address(DEVICE, address, PREFIX)?;
    netlink.up(DEVICE)?;
    for peer in neighbours::known(birth.number, birth.count) {
        let address = switch::address(peer);
        netlink.neighbour(DEVICE, address, neighbours::hardware(address)).map_err(neighbours::explain)?;
    }
    Ok((netlink, notes))
}

fn serve(mut netlink: Socket, launcher: &Launcher, orders: &Packets) -> Result<(), Fault> {
    let failed = |e: std::io::Error| Fault::environment(e.to_string());
    let events = process::child_events().map_err(failed)?;
    let mut rate = None;
    loop {
        let ready = process::wait_readable(&[orders, &events], None).map_err(failed)?;
        if ready[1] {
            process::reap_events(&events);
        }
        if !ready[0] {
            continue;
        }
        let Some((order, file)) = orders.receive(None)? else { return Ok(()) };
        let answer = match (order, file) {
            (ToNode::Attach { place, folder }, Some(stream)) => {
                attach(launcher, stream, place, &folder).into()
            }
            (ToNode::Attach { .. }, None) => Fault::environment("no stream came along").into(),
            (ToNode::Shape { rate: wanted }, _) => {
                let done = shaping::apply(&mut netlink, DEVICE, rate, wanted);
                rate = wanted;
                done.map(|()| Vec::new()).into()
            }
            (ToNode::Drain, _) => meter::drain(|port| orders.send(&Answer::Listening { port }, None))
                .map_or_else(Answer::from, |(bytes, seconds)| Answer::Counted { bytes, seconds }),
            (ToNode::Stream { address, port, milliseconds }, _) => {
                meter::stream(address, port, milliseconds).map(|()| Vec::new()).into()
            }
        };
        orders.send(&answer, None)?;
    }
}

/// Starts a fresh agent: the first one after ending whatever runs on this node, others beside it.
fn attach(launcher: &Launcher, stream: OwnedFd, place: usize, folder: &Path) -> Result<Vec<String>, Fault> {
    if place == 0 {
        process::kill_all_others(GOODBYE)?;
    }
    let mut command = agent::command(launcher, stream, folder)?;
    // Its end is counted out with all others'.
    command.spawn().map(drop).map_err(|e| agent::not_started(launcher, &e))?;
    Ok(Vec::new())
}
