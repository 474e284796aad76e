//! The first process of a node: it creates the node's namespaces and its link, starts agents by
//! order, and waits for processes that have ended.

use crosstalk_core::Fault;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::netlink::Netlink;
use crosstalk_host::packet::PacketSocket;
use crosstalk_host::{Launcher, process};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use super::protocol::{Answer, ToNode};
use super::shaping::Sender;
use super::{addresses, neighbours, node_settings, rate_meter, shaping};
use crate::agent;

/// The name of the node's device of its link.
const DEVICE: &str = "eth0";

/// The length of the cluster's network prefix in bits.
const PREFIX: u8 = 16;

/// How long killed processes may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// The properties of a node.
pub(super) struct NodeSpec<'a> {
    pub(super) number: usize,
    /// The number of nodes.
    pub(super) count: usize,
    /// The name of the switch's device of the link.
    pub(super) port: String,
    /// The network namespace of the switch.
    pub(super) switch: BorrowedFd<'a>,
}

/// Runs a node until its process ends. All other processes of the node end with it.
pub(super) fn run(spec: &NodeSpec<'_>, launcher: &Launcher, orders: &PacketSocket) -> ! {
    process::set_process_name(&format!("crosstalk-{}", spec.number));
    let outcome = match set_up(spec) {
        Ok((netlink, notes)) => {
            orders.send(&Answer::Done { notes }, None).and_then(|()| serve(netlink, launcher, orders))
        }
        Err(fault) => orders.send(&Answer::from(fault), None),
    };
    std::process::exit(if outcome.is_ok() { 0 } else { 4 })
}

fn set_up(spec: &NodeSpec<'_>) -> Result<(Netlink, Vec<String>), Fault> {
    namespace::enter(Kinds::NET.and(Kinds::MOUNT).and(Kinds::UTS).and(Kinds::IPC))?;
    namespace::keep_mounts_private()?;
    let mut notes = Vec::new();
    if let Err(fault) = namespace::mount_proc() {
        notes.push(format!("nodes see the host's process table: {}", fault.message));
    }
    namespace::set_host_name(&format!("node{}", spec.number))?;
    notes.extend(node_settings::apply());
    let mut netlink = Netlink::open()?;
    netlink.switch_on("lo")?;
    let address = addresses::address(spec.number);
    netlink.create_veth(DEVICE, addresses::hardware(address), &spec.port, spec.switch)?;
    netlink.add_address(DEVICE, address, PREFIX)?;
    netlink.switch_on(DEVICE)?;
    for peer in neighbours::known(spec.number, spec.count) {
        let address = addresses::address(peer);
        netlink.add_neighbour(DEVICE, address, addresses::hardware(address)).map_err(neighbours::explain)?;
    }
    Ok((netlink, notes))
}

fn serve(mut netlink: Netlink, launcher: &Launcher, orders: &PacketSocket) -> Result<(), Fault> {
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
            (ToNode::StartAgent { slot, folder }, Some(stream)) => {
                start_agent(launcher, stream, slot, &folder).into()
            }
            (ToNode::StartAgent { .. }, None) => Fault::environment("no stream came along").into(),
            (ToNode::Shape { rate: wanted }, _) => {
                let done = shaping::apply(&mut netlink, (Sender::Node, DEVICE), rate, wanted);
                rate = wanted;
                done.map(|()| Vec::new()).into()
            }
            (ToNode::Drain, _) => rate_meter::drain(|port| orders.send(&Answer::Listening { port }, None))
                .map_or_else(Answer::from, |(bytes, seconds)| Answer::Counted { bytes, seconds }),
            (ToNode::Stream { address, port, milliseconds }, _) => {
                rate_meter::stream(address, port, milliseconds).map(|()| Vec::new()).into()
            }
        };
        orders.send(&answer, None)?;
    }
}

/// Starts a fresh agent. For slot 0 it first ends all other processes of this node.
fn start_agent(
    launcher: &Launcher,
    stream: OwnedFd,
    slot: usize,
    folder: &Path,
) -> Result<Vec<String>, Fault> {
    if slot == 0 {
        process::kill_all_others(END_TIMEOUT)?;
    }
    let mut command = agent::command(launcher, stream, folder)?;
    // `serve` waits for its end, as for that of all processes.
    command.spawn().map(drop).map_err(|e| agent::not_started(launcher, &e))?;
    Ok(Vec::new())
}
