//! The switch process: the first process of the cluster's PID namespace. Its network namespace
//! has the switch, to which all nodes' links are connected.

use crosstalk_core::Fault;
use crosstalk_host::netlink::Netlink;
use crosstalk_host::packet::{PacketSocket, close_in_this_process};
use crosstalk_host::process::{self, Fork};
use crosstalk_host::{Launcher, namespace};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::addresses::{address, hardware, port};
use super::node::{self, NodeSpec};
use super::protocol::{Answer, ToNode};
use super::shaping::Sender;
use super::{rate_meter, shaping};

/// The bridge's name in its namespace.
const BRIDGE: &str = "switch";

/// The most streams, of which one must reach the rate.
const TRIES: usize = 4;

/// How long a node may take for one order.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The switch and its nodes.
pub(super) struct Switch {
    launcher: Launcher,
    /// This process's PID namespace.
    pids: File,
    /// This process's network namespace.
    network: File,
    netlink: Netlink,
    /// The number of nodes once all are created.
    count: usize,
    /// The connections to the first process of each node.
    nodes: Vec<PacketSocket>,
    /// The rate that links are limited to, in bit/s.
    rate: Option<f64>,
    /// Rate (its bits) → the rate that a stream reached, in bit/s, if that is enough.
    reached: BTreeMap<u64, f64>,
}

impl Switch {
    /// Creates the switch and its nodes, all nodes at the same time. Returns notes on settings that
    /// could not be made. `control` is closed in the nodes.
    pub(super) fn create(
        count: usize,
        launcher: Launcher,
        control: &PacketSocket,
    ) -> Result<(Switch, Vec<String>), Fault> {
        let open = |kind: &str| {
            let path = format!("/proc/self/ns/{kind}");
            File::open(&path).map_err(|e| Fault::environment(e.to_string()).at(path))
        };
        let (pids, network) = (open("pid")?, open("net")?);
        namespace::keep_mounts_private()?;
        namespace::set_host_name(BRIDGE)?;
        let mut netlink = Netlink::open()?;
        netlink.create_bridge(BRIDGE)?;
        netlink.switch_on(BRIDGE)?;
        let mut switch = Switch {
            launcher,
            pids,
            network,
            netlink,
            count,
            nodes: Vec::new(),
            rate: None,
            reached: BTreeMap::new(),
        };
        for number in 0..count {
            let node = switch.start_node(number, &[control.as_fd()])?;
            switch.nodes.push(node);
        }
        let mut notes = Vec::new();
        for number in 0..count {
            for note in switch.connect_node(number)? {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        Ok((switch, notes))
    }

    /// Starts the first process of a node, which sets up the node. It is a forked copy of this
    /// process, in which `close_in_child` is closed.
    fn start_node(
        &mut self,
        number: usize,
        close_in_child: &[BorrowedFd<'_>],
    ) -> Result<PacketSocket, Fault> {
        let (ours, theirs) = PacketSocket::pair()?;
        namespace::next_child_in_new_pid_namespace(&self.pids)?;
        match process::fork().map_err(|e| Fault::environment(format!("cannot fork: {e}")))? {
            Fork::Parent(_) => Ok(ours),
            Fork::Child => {
                drop(ours);
                self.nodes.clear();
                close_in_child.iter().copied().for_each(close_in_this_process);
                let spec =
                    NodeSpec { number, count: self.count, port: port(number), switch: self.network.as_fd() };
                node::run(&spec, &self.launcher, &theirs)
            }
        }
    }

    /// Waits until a node is set up, and connects its link.
    fn connect_node(&mut self, number: usize) -> Result<Vec<String>, Fault> {
        let notes = answer(&self.nodes[number]).and_then(Answer::done).map_err(|fault| fault.on(number))?;
        self.netlink.add_to_bridge(&port(number), BRIDGE)?;
        // Without this, frames for a node that has not sent any yet would be sent to all nodes.
        self.netlink.add_forwarding(&port(number), hardware(address(number)))?;
        Ok(notes)
    }

    /// Starts an agent on a node. If the node's first process was killed, the node is created again.
    pub(super) fn start_agent(
        &mut self,
        number: usize,
        order: &ToNode,
        file: &OwnedFd,
        control: &PacketSocket,
    ) -> Result<(), Fault> {
        if number >= self.nodes.len() {
            return Err(Fault::environment(format!("there is no node {number}")));
        }
        if self.nodes[number].send(order, Some(file.as_fd())).is_err() {
            self.renew(number, &[control.as_fd(), file.as_fd()])?;
            self.nodes[number].send(order, Some(file.as_fd()))?;
        }
        answer(&self.nodes[number]).and_then(Answer::done).map(drop)
    }

    fn renew(&mut self, number: usize, close_in_child: &[BorrowedFd<'_>]) -> Result<(), Fault> {
        // The kernel removes a link some time after its node. Its name must be free now.
        let _ = self.netlink.delete_device(&port(number));
        self.nodes[number] = self.start_node(number, close_in_child)?;
        self.connect_node(number)?;
        if self.rate.is_some() {
            shaping::apply(&mut self.netlink, (Sender::Port, &port(number)), None, self.rate)?;
            order(&self.nodes[number], &ToNode::Shape { rate: self.rate })?.done()?;
        }
        Ok(())
    }

    /// Limits both directions of every link to `rate` in bit/s; `None`: removes the limit.
    ///
    /// # Errors
    /// If a stream between two nodes does not reach the rate: with slower links all results would
    /// be false.
    pub(super) fn shape(&mut self, rate: Option<f64>) -> Result<Vec<String>, Fault> {
        self.set(rate)?;
        let Some(rate) = rate else { return Ok(Vec::new()) };
        match self.reached(rate)? {
            Some(reached) if reached < shaping::MIN_SHARE * rate => {
                self.set(None)?;
                Err(shaping::not_kept(rate, reached))
            }
            reached => Ok(vec![shaping::note(rate, reached)]),
        }
    }

    fn set(&mut self, rate: Option<f64>) -> Result<(), Fault> {
        if rate != self.rate {
            for number in 0..self.nodes.len() {
                shaping::apply(&mut self.netlink, (Sender::Port, &port(number)), self.rate, rate)?;
                order(&self.nodes[number], &ToNode::Shape { rate })
                    .and_then(Answer::done)
                    .map_err(|fault| fault.on(number))?;
            }
            self.rate = rate;
        }
        Ok(())
    }

    /// The rate that a stream between two nodes reaches: the best of a few streams, as other
    /// programs only slow it down. A rate that was reached once is not measured again.
    fn reached(&mut self, rate: f64) -> Result<Option<f64>, Fault> {
        if self.nodes.len() < 2 || rate < shaping::ALWAYS_KEPT {
            return Ok(None);
        }
        if let Some(reached) = self.reached.get(&rate.to_bits()) {
            return Ok(Some(*reached));
        }
        let mut best: f64 = 0.0;
        for _ in 0..TRIES {
            best = best.max(self.measure()?);
            if best >= shaping::MIN_SHARE * rate {
                self.reached.insert(rate.to_bits(), best);
                break;
            }
        }
        Ok(Some(best))
    }

    /// The rate of frames, in bit/s, at which node 0 streams to node 1.
    fn measure(&self) -> Result<f64, Fault> {
        let (sender, receiver) = (&self.nodes[0], &self.nodes[1]);
        let port = match order(receiver, &ToNode::Drain)? {
            Answer::Listening { port } => port,
            other => return Err(other.unexpected()),
        };
        let milliseconds = rate_meter::DURATION.as_millis() as u64;
        sender.send(&ToNode::Stream { address: address(1), port, milliseconds }, None)?;
        let counted = answer(receiver)?;
        answer(sender)?.done()?;
        match counted {
            Answer::Counted { bytes, seconds } => Ok(rate_meter::frame_rate(bytes, seconds)),
            other => Err(other.unexpected()),
        }
    }
}

/// Sends an order to a node, and waits for its answer.
fn order(node: &PacketSocket, order: &ToNode) -> Result<Answer, Fault> {
    node.send(order, None)?;
    answer(node)
}

fn answer(node: &PacketSocket) -> Result<Answer, Fault> {
    match node.receive(Some(TIMEOUT))? {
        Some((answer, _)) => Ok(answer),
        None => Err(Fault::environment("its first process has ended")),
    }
}
