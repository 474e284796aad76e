//! What a rank does in a run: a client's phases, or a server's.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;

use crate::client::Client;
use crate::data::DataJob;
use crate::job::{Job, Member};
use crate::metadata::MetadataJob;
use crate::remote::{Remote, serve};
use crate::roles::{Role, Roles};
use crate::server::{Server, Site};
use crate::spec::{Spec, Test};

/// What a rank has done: where the time of the timed phase went, and whether all that it checked is right.
#[derive(Debug)]
pub struct Done {
    /// The time of the timed phase.
    pub account: TimeAccount,
    /// The first fault: of a server that refuses, or of what is wrong.
    pub checked: Result<(), Fault>,
}

/// Runs a rank's part. All ranks end it, also if something is wrong.
///
/// # Errors
/// If ranks are gone.
pub fn run(spec: &Spec, site: Site, roles: &Roles, seed: u64, rank: &mut Rank) -> Result<Done, Fault> {
    if !spec.computing {
        rank.count_messages_only();
    }
    let clients = roles.clients.len();
    match roles.role(rank.id()) {
        Role::Server(number) => run_server(Server::new(number, site), clients, rank),
        Role::Client(number) => {
            let member = Member { number, clients, seed };
            match spec.test {
                Test::Metadata(test, files) => run_client(MetadataJob::new(test, files, member), roles, rank),
                Test::Data(direction, transfers, corruption) => {
                    run_client(DataJob::new(direction, transfers, corruption, member), roles, rank)
                }
            }
        }
    }
}

fn run_server(mut server: Server, clients: usize, rank: &mut Rank) -> Result<Done, Fault> {
    serve(&mut server, clients, rank)?;
    rank.world().barrier()?;
    serve(&mut server, clients, rank)?;
    rank.restart_clock()?;
    serve(&mut server, clients, rank)?;
    let account = rank.account()?;
    rank.world().barrier()?;
    serve(&mut server, clients, rank)?;
    Ok(Done { account, checked: Ok(()) })
}

fn run_client<J: Job>(mut job: J, roles: &Roles, rank: &mut Rank) -> Result<Done, Fault> {
    let mut client = ClientRank { rank, roles };
    let made = client.phase(Ok(()), |client, ()| job.make(client));
    client.end(&made)?;
    client.rank.world().barrier()?;
    let filled = client.phase(made, |client, ()| job.fill(client));
    client.end(&filled)?;
    client.rank.restart_clock()?;
    let found = client.phase(filled, |client, ()| job.timed(client));
    let account = client.rank.account().map_err(|fault| earlier(&found, fault))?;
    client.end(&found)?;
    client.rank.world().barrier()?;
    let checked = client.phase(found, |client, found| job.check(client, found));
    client.end(&checked)?;
    Ok(Done { account, checked })
}

struct ClientRank<'r, 'c> {
    rank: &'r mut Rank<'c>,
    roles: &'r Roles,
}

impl<'r, 'c> ClientRank<'r, 'c> {
    /// Does a phase's work, unless an earlier one has failed.
    fn phase<A, B>(
        &mut self,
        before: Result<A, Fault>,
        work: impl FnOnce(&mut Client<Remote<'_, 'c>>, A) -> Result<B, Fault>,
    ) -> Result<B, Fault> {
        work(&mut Client(Remote::new(self.rank, self.roles)), before?)
    }

    /// Ends a phase: all servers learn it.
    fn end<T>(&mut self, outcome: &Result<T, Fault>) -> Result<(), Fault> {
        Remote::new(self.rank, self.roles).done().map_err(|fault| earlier(outcome, fault))
    }
}

/// The fault that came first.
fn earlier<T>(outcome: &Result<T, Fault>, fault: Fault) -> Fault {
    outcome.as_ref().err().cloned().unwrap_or(fault)
}
