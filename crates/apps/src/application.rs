//! The roles of an application's N + 1 nodes: node 0 is the master, slave `p` is node `p + 1`.

use crosstalk_comm::{Rank, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing};

use super::account::{self, MasterAnswer};
use crate::coordination::MASTER;
use crosstalk_work::peer::rank;
use crosstalk_work::peer::replay::origin;

/// What a node runs once it is connected to all others. When its input is loaded it calls
/// [`Rank::restart_clock`]; from then on time counts.
pub type NodeTask<T> = Box<dyn FnOnce(&mut Rank) -> Result<T, Fault> + Send>;

/// What a node of an application is: its master, or one of its slaves.
pub enum Role {
    /// Coordinates; returns the answer.
    Master(NodeTask<MasterAnswer>),
    /// Computes; returns where its time went.
    Slave(NodeTask<TimeAccount>),
}

/// Deploys one master and `slaves`, which report their `own` metrics and those of every application.
/// `seconds`: about how long an attempt computes.
pub fn deployment(slaves: usize, own: Vec<Metric>, seconds: f64) -> Deployment {
    Deployment {
        nodes: slaves + 1,
        timing: Timing::Either,
        metrics: account::metrics(own),
        effort: Effort::computing(seconds),
    }
}

/// Which of `slaves` this part's node is, from 0; `None`: the master.
pub fn slave_number(part: &Part, slaves: usize) -> Result<Option<usize>, Fault> {
    if part.nodes != slaves + 1 || part.node >= part.nodes {
        return Err(Fault::attempt(format!(
            "expected one master and {slaves} slaves, found node {} of {}",
            part.node, part.nodes
        )));
    }
    Ok(if part.node == MASTER { None } else { Some(part.node - 1) })
}

/// Prepares a node that has checked its input.
pub fn prepare(part: &Part, role: Role) -> Result<Box<dyn Prepared>, Fault> {
    let (node, origin) = (part.node, origin(part));
    let task: rank::RankTask = Box::new(move |mut rank, out| {
        let account = match role {
            Role::Slave(play) => play(&mut rank)?,
            Role::Master(play) => {
                let answer = play(&mut rank)?;
                if let Err(wrong) = answer.verdict {
                    rank.drop_schedule();
                    rank.finish()?;
                    return Err(wrong);
                }
                answer.report(origin, out)?;
                answer.account
            }
        };
        account::report_node(node, &account, origin, out)?;
        rank.finish()
    });
    rank::prepare_or_replay(part, task, Box::new(account::report_replayed))
}
