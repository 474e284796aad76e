//! Clients and servers over `comm`.

use crosstalk_comm::{Envelope, Rank};
use crosstalk_core::{Fault, FaultKind};

use crate::client::Servers;
use crate::message::Request;
use crate::roles::Roles;
use crate::server::Server;

/// The tags of messages.
const REQUEST: u32 = 1;
const ANSWER: u32 = 2;

/// The servers, as a client's rank reaches them.
pub struct Remote<'r, 'c> {
    rank: &'r mut Rank<'c>,
    servers: &'r [usize],
}

impl<'r, 'c> Remote<'r, 'c> {
    /// The servers on these ranks.
    pub fn new(rank: &'r mut Rank<'c>, roles: &'r Roles) -> Self {
        Remote { rank, servers: &roles.servers }
    }

    /// Tells all servers that this client has no more requests in this phase.
    ///
    /// # Errors
    /// If ranks are gone.
    pub fn done(&mut self) -> Result<(), Fault> {
        let done = Request::Done.encode();
        self.servers.iter().try_for_each(|server| self.rank.world().send(*server, REQUEST, &done))
    }

    /// Receives are posted first, so that no server waits for this client.
    fn transfer(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        let mut transfers = Vec::with_capacity(2 * requests.len());
        for (server, _) in requests {
            transfers.push(self.rank.world().irecv(Envelope::exact(self.servers[*server], ANSWER))?);
        }
        for (server, request) in requests {
            transfers.push(self.rank.world().isend(self.servers[*server], REQUEST, &request.encode())?);
        }
        let ended = self.rank.wait_all(transfers)?.into_iter();
        ended.filter_map(|ended| ended.message()).map(|message| message.elements()).collect()
    }
}

impl Servers for Remote<'_, '_> {
    fn count(&self) -> usize {
        self.servers.len()
    }

    fn exchange(&mut self, requests: &[(usize, Request)]) -> Result<Vec<Vec<u8>>, Fault> {
        self.transfer(requests).map_err(|fault| name_server(fault, self.servers))
    }
}

/// Says which server a rank is that is gone.
fn name_server(mut fault: Fault, servers: &[usize]) -> Fault {
    let server = servers.iter().position(|rank| fault.kind == FaultKind::Gone && fault.node() == Some(*rank));
    if let Some(server) = server {
        fault.message = format!("server {server} is gone, on rank {}: {}", servers[server], fault.message);
    }
    fault
}

/// Answers requests in the order in which they arrive, until all clients have no more in this phase. Answers leave while
/// it takes the next request.
///
/// # Errors
/// If ranks are gone, or the node has no disk.
pub fn serve(server: &mut Server, clients: usize, rank: &mut Rank) -> Result<(), Fault> {
    let any = Envelope { from: None, tag: Some(REQUEST) };
    // The next request, and answers that leave.
    let mut pending = vec![rank.world().irecv(any)?];
    let mut done = 0;
    while !pending.is_empty() {
        let (_, ended) = rank.wait_any(&mut pending)?;
        let Some(message) = ended.message() else { continue };
        let from = message.from();
        let request: Vec<u8> = message.elements()?;
        if Request::decode(&request) == Some(Request::Done) {
            done += 1;
        } else {
            let reply = server.answer(&request);
            if let Some((access, bytes)) = reply.disk {
                rank.spill(access, bytes, || Ok(()))?;
            }
            pending.push(rank.world().isend(from, ANSWER, &reply.answer)?);
        }
        if done < clients {
            pending.push(rank.world().irecv(any)?);
        }
    }
    Ok(())
}
