//! Waiting for the client's data connection.

use std::os::fd::AsFd;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_work::peer::socket::{closed_fault, is_readable};
use crosstalk_work::peer::{Deadline, Line, TICK};

/// Waits until the client of `line` connects to `socket`.
///
/// A client that hangs up or says something else instead will not connect. A client that sends
/// little may already have connected, sent everything and said so: its connection counts.
///
/// # Errors
/// Where the client will not connect; where the time is up; interrupted.
pub fn await_data_connection(socket: &impl AsFd, line: &Line, until: &Deadline) -> Result<(), Fault> {
    loop {
        until.check("the client to connect")?;
        // Read before the socket is: who connected before speaking is found there.
        let speaks = line.is_readable();
        let connects = is_readable(socket, if speaks { Duration::ZERO } else { TICK });
        // Read last: after a hang-up, a connection is another caller's.
        if line.peer_has_closed() {
            return Err(closed_fault(line.peer()));
        }
        match (connects, speaks) {
            (true, _) => return Ok(()),
            (false, true) => return Err(closed_fault(line.peer())),
            (false, false) => {}
        }
    }
}
