//! The switch process: first of the cluster's PID namespace, and standing in
//! the network namespace in which the nodes' links meet.

use crosstalk_core::Fault;
use crosstalk_host::netlink::Socket;
use crosstalk_host::packet::{Packets, sever};
use crosstalk_host::process::{self, Fork};
use crosstalk_host::{Launcher, namespace};
use std::collections::BTreeMap;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use super::node::{self, Birth};
use super::protocol::{Answer, ToNode};
use super::{meter, neighbours, shaping};

/// A kernel bridge has 1,023 usable ports (net/bridge/br_private.h, `BR_MAX_PORTS`).
pub(super) const MOST: usize = 1_000;

/// The bridge's name in its own namespace.
const BRIDGE: &str = "switch";

/// Streams to try before a rate is said not to be held.
const TRIES: usize = 4;

/// How long a node may take over one order.
const PATIENCE: Duration = Duration::from_secs(15);

/// A node's address. The namespaces are the cluster's own, so the network
/// cannot collide with any that the host knows.
pub(super) fn address(node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, (node / 250) as u8, 1 + (node % 250) as u8)
}

/// The name of the switch's end of a node's link.
fn port(node: usize) -> String {
    format!("port{node}")
}

/// The switch and its nodes.
pub(super) struct Switch {
    launcher: Launcher,
    /// This process's own namespaces, to come back to and to plug links into.
    pids: File,
    network: File,
    netlink: Socket,
    /// How many nodes there are once all are made.
    count: usize,
    /// The first process of each node.
    nodes: Vec<Packets>,
    /// What links are held to, in bit/s.
    rate: Option<f64>,
    /// What a stream really gets at a rate (its bits), in bit/s, where that is enough.
    held: BTreeMap<u64, f64>,
}

impl Switch {
    /// Makes the switch and its nodes, all at once; says what could not be
    /// made alike. `control` is closed in the nodes.
    pub(super) fn raise(
        count: usize,
        launcher: Launcher,
        control: &Packets,
    ) -> Result<(Switch, Vec<String>), Fault> {
        let open = |kind: &str| {
            let path = format!("/proc/self/ns/{kind}");
            File::open(&path).map_err(|e| Fault::environment(e.to_string()).at(path))
        };
        let (pids, network) = (open("pid")?, open("net")?);
        namespace::keep_mounts_private()?;
        namespace::name_host(BRIDGE)?;
        let mut netlink = Socket::open()?;
        netlink.bridge(BRIDGE)?;
        netlink.up(BRIDGE)?;
        let mut switch = Switch {
            launcher,
            pids,
            network,
            netlink,
            count,
            nodes: Vec::new(),
            rate: None,
            held: BTreeMap::new(),
        };
        for number in 0..count {
            let node = switch.bear(number, &[control.as_fd()])?;
            switch.nodes.push(node);
        }
        let mut notes = Vec::new();
        for number in 0..count {
            for note in switch.welcome(number)? {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        Ok((switch, notes))
    }

    /// Starts the first process of a node, which makes the rest by itself.
    /// It starts as a copy of this process: `not_theirs` is closed in it.
    fn bear(&mut self, number: usize, not_theirs: &[BorrowedFd<'_>]) -> Result<Packets, Fault> {
        let (ours, theirs) = Packets::pair()?;
        namespace::next_child_in_own_pids(&self.pids)?;
        match process::fork().map_err(|e| Fault::environment(format!("cannot fork: {e}")))? {
            Fork::Parent(_) => Ok(ours),
            Fork::Child => {
                drop(ours);
                self.nodes.clear();
                not_theirs.iter().copied().for_each(sever);
                let birth =
                    Birth { number, count: self.count, port: port(number), switch: self.network.as_fd() };
                node::live(&birth, &self.launcher, &theirs)
            }
        }
    }

    /// Waits until a node is made, and plugs its link in.
    fn welcome(&mut self, number: usize) -> Result<Vec<String>, Fault> {
        let notes = answer(&self.nodes[number]).and_then(Answer::done).map_err(|fault| fault.on(number))?;
        self.netlink.plug(&port(number), BRIDGE)?;
        // A node that never sends, and so is never seen, must not have its frames sent to all.
        self.netlink.forward(&port(number), neighbours::hardware(address(number)))?;
        Ok(notes)
    }

    /// Has a node start an agent; makes the node anew if its first process was killed.
    pub(super) fn attach(
        &mut self,
        number: usize,
        order: &ToNode,
        file: &OwnedFd,
        control: &Packets,
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

    fn renew(&mut self, number: usize, not_theirs: &[BorrowedFd<'_>]) -> Result<(), Fault> {
        // The kernel takes the old link away some time after its node: its name must be free now.
        let _ = self.netlink.delete(&port(number));
        self.nodes[number] = self.bear(number, not_theirs)?;
        self.welcome(number)?;
        if self.rate.is_some() {
            shaping::apply(&mut self.netlink, &port(number), None, self.rate)?;
            ask(&self.nodes[number], &ToNode::Shape { rate: self.rate })?.done()?;
        }
        Ok(())
    }

    /// Holds both ends of every link to `rate` in bit/s, or lets them go.
    ///
    /// # Errors
    /// Where a stream between two nodes does not get the rate: links that are
    /// slower than they are said to be would make every result a false one.
    pub(super) fn shape(&mut self, rate: Option<f64>) -> Result<Vec<String>, Fault> {
        self.set(rate)?;
        let Some(rate) = rate else { return Ok(Vec::new()) };
        match self.held(rate)? {
            Some(held) if held < shaping::ENOUGH * rate => {
                self.set(None)?;
                Err(shaping::not_held(rate, held))
            }
            held => Ok(vec![shaping::note(rate, held)]),
        }
    }

    fn set(&mut self, rate: Option<f64>) -> Result<(), Fault> {
        if rate != self.rate {
            for number in 0..self.nodes.len() {
                shaping::apply(&mut self.netlink, &port(number), self.rate, rate)?;
                ask(&self.nodes[number], &ToNode::Shape { rate })
                    .and_then(Answer::done)
                    .map_err(|fault| fault.on(number))?;
            }
            self.rate = rate;
        }
        Ok(())
    }

    /// What a stream between two nodes gets of the rate that is set: the best of
    /// a few, for others on this machine only take from it. Once a rate was
    /// held it is not tried again.
    fn held(&mut self, rate: f64) -> Result<Option<f64>, Fault> {
        if self.nodes.len() < 2 || rate < shaping::ALWAYS_HELD {
            return Ok(None);
        }
        if let Some(held) = self.held.get(&rate.to_bits()) {
            return Ok(Some(*held));
        }
        let mut best: f64 = 0.0;
        for _ in 0..TRIES {
            best = best.max(self.measure()?);
            if best >= shaping::ENOUGH * rate {
                self.held.insert(rate.to_bits(), best);
                break;
            }
        }
        Ok(Some(best))
    }

    /// The rate of frames, in bit/s, at which node 0 streams to node 1.
    fn measure(&self) -> Result<f64, Fault> {
        let (sender, receiver) = (&self.nodes[0], &self.nodes[1]);
        let port = match ask(receiver, &ToNode::Drain)? {
            Answer::Listening { port } => port,
            other => return Err(other.unexpected()),
        };
        let milliseconds = meter::DURATION.as_millis() as u64;
        sender.send(&ToNode::Stream { address: address(1), port, milliseconds }, None)?;
        let counted = answer(receiver)?;
        answer(sender)?.done()?;
        match counted {
            Answer::Counted { bytes, seconds } => Ok(meter::frame_rate(bytes, seconds)),
            other => Err(other.unexpected()),
        }
    }
}

fn ask(node: &Packets, order: &ToNode) -> Result<Answer, Fault> {
    node.send(order, None)?;
    answer(node)
}

fn answer(node: &Packets) -> Result<Answer, Fault> {
    match node.receive(Some(PATIENCE))? {
        Some((answer, _)) => Ok(answer),
        None => Err(Fault::environment("its first process has ended")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_differ_and_stay_in_their_network() {
        let all: std::collections::BTreeSet<_> = (0..MOST).map(address).collect();
        assert_eq!(all.len(), MOST);
        assert!(all.iter().all(|a| a.octets()[..2] == [10, 77] && !matches!(a.octets()[3], 0 | 255)));
    }
}
