//! The traits of a scene: workloads that run, conditions that hold, observers
//! that watch. The runner composes them; none imports another.

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use crate::Fault;
use crate::fidelity::Fidelity;
use crate::message::Part;
use crate::need::Need;
use crate::parameter::Parameters;
use crate::record::{Metric, Reading};
use crate::value::{Params, Value};

/// Which clock a workload's results can be told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Virtual clocks: the fabric is in the profile, not in the links.
    Virtual,
    /// The wall clock: links are shaped by the kernel.
    Real,
    /// Whichever the scene's place asks for.
    Either,
    /// The wall clock, on machines of the user's that the workload reaches by
    /// itself: nothing of ours holds there.
    Outside,
}

/// What a workload asks for with given parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// How many nodes take part.
    pub nodes: usize,
    /// Which clock tells the results.
    pub timing: Timing,
    /// The metrics it reports; the first is the one the study decides on.
    pub metrics: Vec<Metric>,
    /// About how long attempts take.
    pub effort: Effort,
}

/// About how long attempts at a cell take: for estimates before there are any.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Effort {
    /// Seconds that pass whatever the machine, in every attempt.
    pub waiting: f64,
    /// Seconds that two cores of the yardstick compute, in every attempt.
    pub computing: f64,
    /// The same, in the first attempt only, beside: what is started, and gets warm.
    pub once: f64,
}

impl Effort {
    /// That of work which only takes time.
    pub fn waiting(seconds: f64) -> Self {
        Effort { waiting: seconds, ..Effort::default() }
    }

    /// That of work which only computes.
    pub fn computing(seconds: f64) -> Self {
        Effort { computing: seconds, ..Effort::default() }
    }

    /// Seconds of `attempts` attempts, the first among them, on a machine that
    /// takes `pace` times as long as the yardstick.
    pub fn seconds(&self, attempts: usize, pace: f64) -> f64 {
        let each = self.waiting + self.computing * pace;
        if attempts == 0 { 0.0 } else { self.once * pace + each * attempts as f64 }
    }

    /// Whether it depends on the machine.
    pub fn computes(&self) -> bool {
        self.computing > 0.0 || self.once > 0.0
    }

    /// That of work which goes on at the same time.
    pub fn beside(&self, other: &Effort) -> Effort {
        Effort {
            waiting: self.waiting.max(other.waiting),
            computing: self.computing + other.computing,
            once: self.once + other.once,
        }
    }
}

/// A workload: ours, or the wrapping of a third-party program.
pub trait Workload: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// One line for people.
    fn title(&self) -> &'static str;
    /// The parameters it takes.
    fn parameters(&self) -> Parameters;
    /// What it needs of each machine, with parameters that [`Workload::deploy`] accepts.
    fn needs(&self, params: &Params) -> Vec<Need>;
    /// Checks the parameters, and says what they ask for.
    fn deploy(&self, params: &Params) -> Result<Deployment, Fault>;
    /// Whether two sets of parameters that [`Workload::deploy`] accepts ask for the same on this machine.
    fn same(&self, one: &Params, other: &Params) -> bool {
        one == other
    }
    /// Whether it goes on until it is told to stop, beside work that ends by itself: it says when
    /// it is steady, and ends well soon after `cancelled` becomes true.
    fn lasts(&self) -> bool {
        false
    }
    /// Gets one node ready (on the node): reads input, binds listeners.
    fn prepare(&self, part: &Part) -> Result<Box<dyn Prepared>, Fault>;
}

/// One node's part, ready to go.
pub trait Prepared: Send {
    /// Where this node listens for its peers, if it does.
    fn endpoint(&self) -> Option<SocketAddr>;
    /// Performs the part. Returns what the fidelity monitor saw, in virtual time.
    /// Ends early with a fault soon after `cancelled` becomes true; what lasts ends well then.
    fn run(
        self: Box<Self>,
        endpoints: &[Option<SocketAddr>],
        out: &mut dyn Sink,
        cancelled: &AtomicBool,
    ) -> Result<Option<Fidelity>, Fault>;
}

/// Where readings go.
pub trait Sink {
    /// Takes one reading that stands for `n` raw observations.
    fn take(&mut self, reading: Reading, n: u64) -> Result<(), Fault>;
    /// Hears that work which lasts is steady: what starts beside it may begin.
    fn steady(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Sink for Vec<Reading> {
    fn take(&mut self, reading: Reading, _: u64) -> Result<(), Fault> {
        self.push(reading);
        Ok(())
    }
}

/// Where something holds or watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Once on each host, however many nodes share it.
    Host,
    /// On each node.
    Node,
    /// On each node that has work which lasts.
    Background,
}

/// Something that holds during an attempt and is undone after it. It is applied on the node, by an
/// agent that runs no work.
pub trait Condition: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// Where it is applied.
    fn scope(&self) -> Scope {
        Scope::Node
    }
    /// Checks a value, for a scene in which some work is `lasting`, or none.
    fn check(&self, value: &Value, lasting: bool) -> Result<(), Fault>;
    /// Makes it hold. `background` gives the processes of the agents of this node whose work lasts, as
    /// this node numbers them, which fails where one cannot tell: they have started nothing yet, and
    /// what they start inherits what they have.
    fn apply(
        &self,
        value: &Value,
        background: &dyn Fn() -> Result<Vec<u32>, Fault>,
    ) -> Result<Box<dyn Holding>, Fault>;
}

/// A condition that holds. Dropping it undoes it.
pub trait Holding: Send {
    /// Begins what could keep work that lasts from becoming steady: called once it is, before the rest begins.
    ///
    /// # Errors
    /// Where that does not begin.
    fn begin(&mut self) -> Result<(), Fault> {
        Ok(())
    }
    /// Ends what could keep work that lasts from ending: called when the rest has ended or failed.
    ///
    /// # Errors
    /// Where the condition has not held all the time until now.
    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Something that watches an attempt, on the node.
pub trait Observer: Send + Sync {
    /// Its registered name.
    fn name(&self) -> &'static str;
    /// What it needs of the machine.
    fn needs(&self) -> Vec<Need>;
    /// Where it watches.
    fn scope(&self) -> Scope {
        Scope::Node
    }
    /// What it reports.
    fn metrics(&self) -> Vec<Metric>;
    /// Begins to watch.
    fn attach(&self) -> Result<Box<dyn Watch>, Fault>;
}

/// An attached observer.
pub trait Watch: Send {
    /// Stops watching and tells what it saw.
    fn detach(self: Box<Self>, out: &mut dyn Sink) -> Result<(), Fault>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_computes_depends_on_the_machine_and_only_the_first_attempt_pays_once() {
        let effort = Effort { waiting: 1.0, computing: 2.0, once: 10.0 };
        assert_eq!(effort.seconds(0, 3.0), 0.0);
        assert_eq!(effort.seconds(1, 1.0), 13.0);
        assert_eq!(effort.seconds(4, 0.5), 5.0 + 4.0 * 2.0);
        assert_eq!(Effort::waiting(7.0).seconds(2, 9.0), 14.0);
        assert!(effort.computes() && !Effort::waiting(7.0).computes());
    }

    #[test]
    fn side_by_side_waiting_overlaps_and_computing_adds_up() {
        let beside = Effort::waiting(5.0).beside(&Effort { waiting: 2.0, computing: 3.0, once: 1.0 });
        assert_eq!(beside, Effort { waiting: 5.0, computing: 3.0, once: 1.0 });
    }
}
