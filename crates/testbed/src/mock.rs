//! A testbed whose nodes are threads, for fast and exact tests of other crates.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::testbed::{AgentStream, Cluster, Link, Testbed};
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
pub struct MockTestbed {
    behaviour: Behaviour,
    /// The number of nodes on a host.
    nodes_a_host: usize,
    /// The links that clusters were shaped to, in order.
    links: Arc<Mutex<Vec<Link>>>,
}

impl MockTestbed {
    /// A testbed whose agents are threads. Each runs `behaviour` with its node's number and its
    /// side of the stream, and ends when `behaviour` returns.
    pub fn new(behaviour: impl Fn(usize, AgentStream) + Send + Sync + 'static) -> Self {
        MockTestbed { behaviour: Arc::new(behaviour), nodes_a_host: usize::MAX, links: Arc::default() }
    }

    /// The same with `nodes` nodes on each host, at least one [default: all nodes on one host].
    pub fn on_hosts_of(self, nodes: usize) -> Self {
        MockTestbed { nodes_a_host: nodes.max(1), ..self }
    }

    /// The links that clusters of this testbed and its clones were shaped to, in order.
    pub fn shaped_links(&self) -> Vec<Link> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Testbed for MockTestbed {
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
    testbed: MockTestbed,
    nodes: usize,
    /// A copy of the runner's side of each stream, to shut it down, by node and slot.
    streams: BTreeMap<(usize, usize), UnixStream>,
}

impl MockCluster {
    fn end(&mut self, agent: (usize, usize)) {
        if let Some(stream) = self.streams.remove(&agent) {
            // The agent may have ended already.
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
        node / self.testbed.nodes_a_host
    }

    fn shared(&self) -> Option<&Path> {
        None
    }

    fn start_agent(&mut self, node: usize, slot: usize) -> Result<AgentStream, Fault> {
        let ended = |there: &&(usize, usize)| there.0 == node && (slot == 0 || there.1 == slot);
        let ended: Vec<_> = self.streams.keys().filter(ended).copied().collect();
        ended.into_iter().for_each(|agent| self.end(agent));
        let (ours, theirs) = agent::stream()?;
        let copy = ours.try_clone().map_err(|e| Fault::environment(e.to_string()))?;
        self.streams.insert((node, slot), copy);
        let theirs = agent::connect(theirs)?;
        let behaviour = Arc::clone(&self.testbed.behaviour);
        thread::spawn(move || behaviour(node, theirs));
        agent::connect(ours)
    }

    fn shape(&mut self, link: Link) -> Result<Vec<String>, Fault> {
        self.testbed.links.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        Ok(Vec::new())
    }

    fn absences(&self) -> Vec<String> {
        vec!["nodes are threads of a test: nothing is measured".into()]
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

    /// Answers one line with the node's number, and ends.
    fn answer_once(node: usize, stream: AgentStream) {
        let mut line = String::new();
        let mut writer = stream.writer;
        if BufReader::new(stream.reader).read_line(&mut line).is_ok_and(|n| n > 0) {
            writer.write_all(format!("{node}: {line}").as_bytes()).expect("is received");
        }
    }

    #[test]
    fn an_agent_answers_ends_and_can_be_started_again() {
        let mut cluster = MockTestbed::new(answer_once).create(3).expect("is created");
        for _ in 0..2 {
            let mut stream = cluster.start_agent(2, 0).expect("starts");
            stream.writer.write_all(b"hello\n").expect("is received");
            let mut answer = String::new();
            stream.reader.read_to_string(&mut answer).expect("ends");
            assert_eq!(answer, "2: hello\n");
        }
    }

    #[test]
    fn dropping_the_cluster_ends_the_streams() {
        let mut cluster = MockTestbed::new(answer_once).create(1).expect("is created");
        let mut stream = cluster.start_agent(0, 0).expect("starts");
        drop(cluster);
        let mut answer = Vec::new();
        stream.reader.read_to_end(&mut answer).expect("ends");
        assert!(answer.is_empty());
    }

    #[test]
    fn it_records_the_links_that_it_was_shaped_to() {
        let mock = MockTestbed::new(answer_once);
        let link = Link::Rate(BitRate(1e9));
        mock.create(2).expect("is created").shape(link).expect("shapes");
        assert_eq!(mock.shaped_links(), [link]);
    }

    #[test]
    fn a_cluster_of_no_nodes_is_refused() {
        assert!(MockTestbed::new(answer_once).create(0).is_err());
    }
}
