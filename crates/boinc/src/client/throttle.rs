//! A program of background work that limits itself through an interface of its own, as BOINC's client does:
//! for where its control group cannot be set, or does not suffice.

use crosstalk_core::Fault;
use std::time::Duration;

/// A program that can be limited and paused.
pub trait Throttle: Send {
    /// Its name, for people.
    fn name(&self) -> &str;
    /// Limits the processors that it uses; `None` restores what it had before the first limit.
    ///
    /// # Errors
    /// Where it refuses, or cannot be reached.
    fn set_cores(&mut self, cores: Option<usize>) -> Result<(), Fault>;
    /// Pauses it for so long; it resumes by itself afterwards (a dead man's switch).
    ///
    /// # Errors
    /// Where it refuses, or cannot be reached.
    fn suspend(&mut self, time: Duration) -> Result<(), Fault>;
    /// Resumes it.
    ///
    /// # Errors
    /// Where it refuses, or cannot be reached.
    fn resume(&mut self) -> Result<(), Fault>;
}

/// One for tests: it records the requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockThrottle {
    /// Whether it cannot be reached.
    pub gone: bool,
    /// The requests, in order.
    pub requests: Vec<String>,
}

impl MockThrottle {
    fn record(&mut self, what: String) -> Result<(), Fault> {
        if self.gone {
            return Err(Fault::environment("the program cannot be reached"));
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
