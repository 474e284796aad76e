//! The drivers of an attempt, from the workload's side: each is started in its group, and all begin at once.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Instant;

use crosstalk_core::Fault;
use crosstalk_host::process::{cannot, end_with_starter, spawn_thread};
use crosstalk_work::peer::{Deadline, TICK};
use serde::Serialize;

use crate::orders::{Orders, Report, Signal};

/// The hidden verb that runs a driver.
pub const VERB: &str = "users-driver";

/// The drivers. Dropping them kills them, and their users with them.
pub struct Drivers {
    drivers: Vec<Driver>,
    reports: Receiver<(usize, Option<Report>)>,
}

struct Driver {
    child: Child,
    input: ChildStdin,
    /// Users that it has not reported.
    left: usize,
}

impl Drivers {
    /// Starts one for each of the orders, by the command that `command` makes for it.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start(
        orders: &[Orders],
        command: impl Fn(usize, &Orders) -> Result<Command, Fault>,
    ) -> Result<Self, Fault> {
        let (sender, reports) = channel();
        let mut drivers = Drivers { drivers: Vec::new(), reports };
        for (at, orders) in orders.iter().enumerate() {
            let mut command = command(at, orders)?;
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            end_with_starter(&mut command);
            drivers.start_one(at, &mut command, orders, sender.clone())?;
        }
        Ok(drivers)
    }

    fn start_one(
        &mut self,
        at: usize,
        command: &mut Command,
        orders: &Orders,
        sender: Sender<(usize, Option<Report>)>,
    ) -> Result<(), Fault> {
        let mut child = command.spawn().map_err(|e| cannot("start a driver of users", &e))?;
        let missing = || Fault::attempt("a driver has no streams");
        let (input, output) =
            (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        self.drivers.push(Driver { child, input, left: orders.users.len() });
        spawn_thread("reports", move || {
            for line in BufReader::new(output).lines() {
                let report = line.ok().and_then(|line| serde_json::from_str(&line).ok());
                let is_end = report.is_none();
                if sender.send((at, report)).is_err() || is_end {
                    return;
                }
            }
            // Nobody listens where the attempt has ended.
            let _ = sender.send((at, None));
        })?;
        self.send(at, orders)
    }

    /// The number of drivers.
    pub fn count(&self) -> usize {
        self.drivers.len()
    }

    /// Waits for the next report, and returns whose it is; `None` if there is none before `end`.
    ///
    /// # Errors
    /// At the deadline; if a driver cannot go on, or has ended early.
    pub fn next(&mut self, until: &Deadline, end: Option<Instant>) -> Result<Option<(usize, Report)>, Fault> {
        loop {
            until.check("the users to end")?;
            let left = end.map_or(TICK, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(None);
            }
            match self.reports.recv_timeout(until.time_left().min(TICK).min(left)) {
                Ok((_, Some(Report::Broken(fault)))) => return Err(fault),
                Ok((at, Some(report))) => {
                    self.drivers[at].left -= usize::from(report != Report::Ready);
                    return Ok(Some((at, report)));
                }
                // It ends when all its users have.
                Ok((at, None)) if self.drivers[at].left == 0 => {}
                Ok((at, None)) => {
                    return Err(Fault::attempt(format!("the driver of group {at} ended before its users")));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Fault::attempt("all drivers have ended before their users"));
                }
            }
        }
    }

    /// Sends a signal to all that have users.
    ///
    /// # Errors
    /// If one of these has gone.
    pub fn signal(&mut self, signal: Signal) -> Result<(), Fault> {
        let busy = (0..self.count()).filter(|at| self.drivers[*at].left > 0).collect::<Vec<_>>();
        busy.into_iter().try_for_each(|at| self.send(at, &signal))
    }

    fn send(&mut self, at: usize, message: &impl Serialize) -> Result<(), Fault> {
        let line = serde_json::to_string(message).map_err(|e| Fault::attempt(e.to_string()))?;
        let input = &mut self.drivers[at].input;
        writeln!(input, "{line}")
            .and_then(|()| input.flush())
            .map_err(|e| Fault::attempt(format!("the driver of group {at} has gone: {e}")))
    }
}

impl Drop for Drivers {
    fn drop(&mut self) {
        for driver in &mut self.drivers {
            // It may have ended already.
            let _ = driver.child.kill().and_then(|()| driver.child.wait());
        }
    }
}
