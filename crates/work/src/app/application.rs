//! An application as a workload of N + 1 nodes: node 0 is the master, slave `p`
//! is node `p + 1`.

use crosstalk_comm::{Account, Rank};
use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::record::Metric;
use crosstalk_core::scene::{Deployment, Prepared, Timing, Workload};
use crosstalk_core::value::Params;

use super::account::{self, Answer};
use super::words::MASTER;
use crate::peer::rank;

/// What a node does once it is connected to all others. It begins with
/// [`Rank::restart_clock`] when its input is loaded; from then on time counts.
pub type Play<T> = Box<dyn FnOnce(&mut Rank) -> Result<T, Fault> + Send>;

/// An application: what tells one from another.
pub struct Application<C> {
    /// Its registered name.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// What it reports beside what every application does.
    pub metrics: fn() -> Vec<Metric>,
    /// Reads and checks the parameters.
    pub read: fn(&Params) -> Result<C, Fault>,
    /// Slaves; beside them there is one master.
    pub slaves: fn(&C) -> usize,
    /// About how long one attempt takes, in seconds.
    pub seconds: fn(&C) -> f64,
    /// Looks at the input, on the master's node.
    pub master: fn(C, &Part) -> Result<Play<Answer>, Fault>,
    /// Looks at the input, on a slave's node. The play returns where the time went.
    pub slave: fn(C, &Part) -> Result<Play<Account>, Fault>,
}

impl<C: 'static> Workload for Application<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn parameters(&self) -> &'static [&'static str] {
        self.parameters
    }

    fn timing(&self) -> Timing {
        Timing::Virtual
    }

    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }

    fn deploy(&self, params: &Params) -> Result<Deployment, Fault> {
        let config = (self.read)(params)?;
        Ok(Deployment {
            nodes: (self.slaves)(&config) + 1,
            metrics: account::metrics((self.metrics)()),
            seconds: (self.seconds)(&config),
        })
    }

    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault> {
        let config = (self.read)(&part.params)?;
        let slaves = (self.slaves)(&config);
        if part.nodes != slaves + 1 || part.node >= part.nodes {
            return Err(Fault::attempt(format!(
                "expected one master and {slaves} slaves, found node {} of {}",
                part.node, part.nodes
            )));
        }
        let (node, origin) = (part.node, account::origin(part));
        let play: rank::Play = if node == MASTER {
            let play = (self.master)(config, part)?;
            Box::new(move |mut rank, out| {
                let answer = play(&mut rank)?;
                if let Err(wrong) = answer.verdict {
                    rank.finish()?;
                    return Err(wrong);
                }
                answer.tell(origin, out)?;
                account::tell(node, &answer.account, origin, out)?;
                rank.finish()
            })
        } else {
            let play = (self.slave)(config, part)?;
            Box::new(move |mut rank, out| {
                let account = play(&mut rank)?;
                account::tell(node, &account, origin, out)?;
                rank.finish()
            })
        };
        rank::prepare(part, play)
    }
}
