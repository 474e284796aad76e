//! Which rank is a client, and which a server.
//!
//! The last rank of each of the first nodes is a server, one for each server; all other ranks are clients. So with one
//! rank a node the first nodes are servers and the others clients, and with two ranks a node is both.

use crosstalk_core::Fault;

/// What a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The client of this number, from 0.
    Client(usize),
    /// The server of this number, from 0.
    Server(usize),
}

/// The ranks of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// The ranks of the clients.
    pub clients: Vec<usize>,
    /// The ranks of the servers.
    pub servers: Vec<usize>,
}

impl Roles {
    /// The roles of so many nodes with so many ranks each.
    ///
    /// # Errors
    /// A usage fault if there are more servers than nodes, or no rank is left for a client.
    pub fn new(nodes: usize, each: usize, servers: usize) -> Result<Self, Fault> {
        let wrong = |why: String| Err(Fault::usage(why).of_parameter("servers"));
        if servers > nodes {
            return wrong(format!(
                "expected at most one server a node, found {servers} servers on {nodes} nodes"
            ))
            .map_err(|fault: Fault| fault.remedy("take fewer `servers`, or more `nodes`"));
        }
        let is_server = |rank: &usize| rank % each == each - 1 && rank / each < servers;
        let (servers, clients): (Vec<_>, Vec<_>) = (0..nodes * each).partition(is_server);
        if clients.is_empty() {
            return wrong("no rank is left for a client: each node has one, and is a server".into()).map_err(
                |fault: Fault| {
                    fault.remedy("take fewer `servers`, or two ranks on each node (the condition `ranks`)")
                },
            );
        }
        Ok(Roles { clients, servers })
    }

    /// What a rank does.
    pub fn role(&self, rank: usize) -> Role {
        let client = self.clients.iter().position(|client| *client == rank).map(Role::Client);
        let server = self.servers.iter().position(|server| *server == rank).map(Role::Server);
        client.or(server).unwrap_or(Role::Client(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(nodes: usize, each: usize, servers: usize) -> (Vec<usize>, Vec<usize>) {
        let roles = Roles::new(nodes, each, servers).expect("are possible");
        (roles.clients, roles.servers)
    }

    #[test]
    fn the_last_rank_of_the_first_nodes_serves() {
        assert_eq!(of(2, 1, 1), (vec![1], vec![0]));
        assert_eq!(of(4, 1, 2), (vec![2, 3], vec![0, 1]));
        assert_eq!(of(2, 2, 2), (vec![0, 2], vec![1, 3]));
        assert_eq!(of(3, 2, 1), (vec![0, 2, 3, 4, 5], vec![1]));
        assert_eq!(of(1, 2, 1), (vec![0], vec![1]));
    }

    #[test]
    fn impossible_counts_are_refused_by_name() {
        for (nodes, each, servers, why) in [(2, 2, 3, "3 servers on 2 nodes"), (2, 1, 2, "no rank is left")] {
            let fault = Roles::new(nodes, each, servers).expect_err("is refused");
            assert_eq!(fault.parameter.as_deref(), Some("servers"));
            assert!(fault.message.contains(why) && fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn each_rank_has_one_role() {
        let roles = Roles::new(3, 2, 2).expect("are possible");
        let all: Vec<Role> = (0..6).map(|rank| roles.role(rank)).collect();
        use Role::{Client, Server};
        assert_eq!(all, [Client(0), Server(0), Client(1), Server(1), Client(2), Client(3)]);
    }
}
