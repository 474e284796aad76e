//! Nodes that are threads: the logic of rooms above, tested at once and exactly.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{Cluster, AgentStream, Link, Testbed};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::agent;

type Behaviour = Arc<dyn Fn(usize, AgentStream) + Send + Sync>;

/// A testbed whose nodes run a closure.
#[derive(Clone)]
pub struct Mock {
    behaviour: Behaviour,
    /// How many nodes share a host.
    share: usize,
    links: Arc<Mutex<Vec<Link>>>,
}

impl Mock {
    /// Every agent is a thread that runs `behaviour` with its node's number and
    /// its end of the stream; it is gone when `behaviour` returns.
    pub fn new(behaviour: impl Fn(usize, AgentStream) + Send + Sync + 'static) -> Self {
        Mock { behaviour: Arc::new(behaviour), share: usize::MAX, links: Arc::default() }
    }

    /// The same on hosts of so many nodes each, at least one; on one host by default.
    pub fn on_hosts_of(self, nodes: usize) -> Self {
        Mock { share: nodes.max(1), ..self }
    }

    /// What clusters of this testbed (and of its clones) were shaped to, in order.
    pub fn links(&self) -> Vec<Link> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Testbed for Mock {
    fn name(&self) -> &'static str {
        "mock"
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn check_capacity(&self, nodes: usize) -> Result<(), Fault> {
        agent::check_count(nodes, 10_000)
    }

    fn create(&self, nodes: usize) -> Result<Box<dyn Cluster>, Fault> {
        self.check_capacity(nodes)?;
        Ok(Box::new(MockCluster { testbed: self.clone(), nodes, streams: BTreeMap::new() }))
    }
}

struct MockCluster {
    testbed: Mock,
    nodes: usize,
    /// A copy of our end of each stream, to end it with, by node and place.
    streams: BTreeMap<(usize, usize), UnixStream>,
}

impl MockCluster {
    fn end(&mut self, agent: (usize, usize)) {
        if let Some(stream) = self.streams.remove(&agent) {
            // It may have ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Cluster for MockCluster {
    fn nodes(&self) -> usize {
        self.nodes
    }

    fn address(&self, _: usize) -> IpAddr {
        Ipv4Addr::LOCALHOST.into()
    }

    fn host(&self, node: usize) -> usize {
        node / self.testbed.share
    }

    fn shared(&self) -> Option<&Path> {
        None
    }

    fn start_agent(&mut self, node: usize, place: usize) -> Result<AgentStream, Fault> {
        let ended = |there: &&(usize, usize)| there.0 == node && (place == 0 || there.1 == place);
        let ended: Vec<_> = self.streams.keys().filter(ended).copied().collect();
        ended.into_iter().for_each(|agent| self.end(agent));
        let (ours, theirs) = agent::stream()?;
        let copy = ours.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
        self.streams.insert((node, place), copy);
        let theirs = agent::duplex(theirs)?;
        let behaviour = Arc::clone(&self.testbed.behaviour);
        thread::spawn(move || behaviour(node, theirs));
        agent::duplex(ours)
    }

    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault> {
        self.testbed.links.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        Ok(Vec::new())
    }

    fn absences(&self) -> Vec<String> {
        vec!["nodes are threads that play a part: nothing is measured".into()]
    }
}

impl Drop for MockCluster {
    fn drop(&mut self) {
        let all: Vec<(usize, usize)> = self.streams.keys().copied().collect();
        all.into_iter().for_each(|agent| self.end(agent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::BitRate;
    use std::io::{BufRead, BufReader, Read, Write};

    /// Answers one line with the node's number, and leaves.
    fn once(node: usize, stream: AgentStream) {
        let mut line = String::new();
        let mut writer = stream.writer;
        if BufReader::new(stream.reader).read_line(&mut line).is_ok_and(|n| n > 0) {
            writer.write_all(format!("{node}: {line}").as_bytes()).expect("is heard");
        }
    }

    #[test]
    fn a_node_answers_leaves_and_can_be_attached_again() {
        let mut cluster = Mock::new(once).create(3).expect("is raised");
        for _ in 0..2 {
            let mut stream = cluster.start_agent(2, 0).expect("attaches");
            stream.writer.write_all(b"hello\n").expect("is heard");
            let mut answer = String::new();
            stream.reader.read_to_string(&mut answer).expect("ends");
            assert_eq!(answer, "2: hello\n");
        }
    }

    #[test]
    fn dropping_the_cluster_ends_the_streams() {
        let mut cluster = Mock::new(once).create(1).expect("is raised");
        let mut stream = cluster.start_agent(0, 0).expect("attaches");
        drop(cluster);
        let mut answer = Vec::new();
        stream.reader.read_to_end(&mut answer).expect("ends");
        assert!(answer.is_empty());
    }

    #[test]
    fn it_remembers_what_it_was_shaped_to() {
        let mock = Mock::new(once);
        let link = Link::Rate(BitRate(1e9));
        mock.create(2).expect("is raised").shape(link).expect("shapes");
        assert_eq!(mock.links(), [link]);
    }

    #[test]
    fn a_cluster_of_no_nodes_is_refused() {
        assert!(Mock::new(once).create(0).is_err());
    }
}
