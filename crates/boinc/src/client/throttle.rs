//! A program that donates work through an interface of its own, as BOINC's client does: it is requests
//! to use fewer processors or to stand still, where groups cannot be set or do not suffice.

use crosstalk_core::Fault;
use std::time::Duration;

/// Such a program.
pub trait Throttle: Send {
    /// What it is called, for people.
    fn name(&self) -> &str;
    /// Has it use at most so many processors; `None`: as many as before it was first requests.
    ///
    /// # Errors
    /// When it refuses, or cannot be talked to.
    fn set_cores(&mut self, cores: Option<usize>) -> Result<(), Fault>;
    /// Has it stand still for so long, and go on by itself afterwards: a dead man's switch.
    ///
    /// # Errors
    /// When it refuses, or cannot be talked to.
    fn suspend(&mut self, time: Duration) -> Result<(), Fault>;
    /// Has it go on.
    ///
    /// # Errors
    /// When it refuses, or cannot be talked to.
    fn resume(&mut self) -> Result<(), Fault>;
}

/// One that does what it is requests, and remembers it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockThrottle {
    /// Whether it cannot be talked to.
    pub gone: bool,
    /// What it was requests, in order.
    pub requests: Vec<String>,
}

impl MockThrottle {
    fn record(&mut self, what: String) -> Result<(), Fault> {
        if self.gone {
            return Err(Fault::environment("the donor cannot be talked to"));
        }
        self.requests.push(what);
        Ok(())
    }
}

impl Throttle for MockThrottle {
    fn name(&self) -> &str {
        "mock"
    }

    fn set_cores(&mut self, cores: Option<usize>) -> Result<(), Fault> {
        self.record(cores.map_or("all cores".into(), |cores| format!("cores {cores}")))
    }

    fn suspend(&mut self, time: Duration) -> Result<(), Fault> {
        self.record(format!("suspend {} s", time.as_secs_f64()))
    }

    fn resume(&mut self) -> Result<(), Fault> {
        self.record("resume".into())
    }
}
