//! A connection to a client: one request and its reply at a time. A request is `<boinc_gui_rpc_request>`, an
//! operation, the closing tag and a byte 0x03; a reply likewise. A reply that is too long, too late or
//! malformed ends the connection: the next bytes could be its rest.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;

use crate::markup::{Element, first};

/// The byte that ends a request and a reply.
const END: u8 = 3;

/// The longest reply, in bytes. That of `get_state` with a thousand tasks is about 1 MB.
pub const LONGEST: usize = 32 << 20;

/// How long a reply may take, from the request's first byte to its own last: a busy client answers once a
/// second, and copies files meanwhile.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A connection without an open request.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    deadline: Duration,
    longest: usize,
}

impl Connection {
    /// Connects, within the deadline.
    ///
    /// # Errors
    /// Where nobody listens there.
    pub fn open(address: SocketAddr, deadline: Duration, longest: usize) -> Result<Self, Fault> {
        let stream = TcpStream::connect_timeout(&address, deadline).map_err(|e| {
            fault(address, format!("no BOINC client answers: {e}"))
                .remedy("start it (`boinc`, or `systemctl start boinc-client`), and check its port")
        })?;
        stream.set_nodelay(true).map_err(|e| fault(address, e.to_string()))?;
        Ok(Connection { stream, address, deadline, longest })
    }

    /// Sends an operation; returns the contents of `<boinc_gui_rpc_reply>`.
    ///
    /// # Errors
    /// Where no such reply comes in time. The connection must not be used then.
    pub fn request(&mut self, operation: &str) -> Result<String, Fault> {
        let until = Instant::now() + self.deadline;
        let request = format!("<boinc_gui_rpc_request>\n{operation}\n</boinc_gui_rpc_request>\n\u{3}");
        let left = self.remaining(until)?;
        let mut stream = &self.stream;
        stream
            .set_write_timeout(Some(left))
            .and_then(|()| stream.write_all(request.as_bytes()))
            .map_err(|e| self.io_fault(&e))?;
        let reply = self.reply(until)?;
        let reply = String::from_utf8_lossy(&reply);
        let Some(Element { body, .. }) = first(&reply, "boinc_gui_rpc_reply") else {
            return Err(self
                .fault("what answers is no BOINC client, or its reply is cut short".into())
                .remedy("check the port"));
        };
        Ok(body.to_string())
    }

    /// Reads a reply, without its last byte.
    fn reply(&mut self, until: Instant) -> Result<Vec<u8>, Fault> {
        let mut reply = Vec::new();
        let mut chunk = [0; 16 << 10];
        loop {
            let left = self.remaining(until)?;
            self.stream.set_read_timeout(Some(left)).map_err(|e| self.io_fault(&e))?;
            let read = match self.stream.read(&mut chunk) {
                Ok(0) => return Err(self.fault("the BOINC client closed the connection".into())),
                Ok(read) => &chunk[..read],
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.io_fault(&e)),
            };
            if let Some(end) = read.iter().position(|byte| *byte == END) {
                reply.extend_from_slice(&read[..end]);
                return Ok(reply);
            }
            reply.extend_from_slice(read);
            if reply.len() > self.longest {
                return Err(self.fault(format!("the reply is longer than {} bytes", self.longest)));
            }
        }
    }

    fn remaining(&self, until: Instant) -> Result<Duration, Fault> {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(self.timed_out()) } else { Ok(left) }
    }

    fn io_fault(&self, e: &std::io::Error) -> Fault {
        match e.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => self.timed_out(),
            _ => self.fault(format!("the connection to the BOINC client failed: {e}")),
        }
    }

    fn timed_out(&self) -> Fault {
        self.fault(format!("the BOINC client did not answer within {} s", self.deadline.as_secs_f64()))
            .remedy("see what it waits for, often a full disk or a stopped process")
    }

    fn fault(&self, message: String) -> Fault {
        fault(self.address, message)
    }
}

fn fault(address: SocketAddr, message: String) -> Fault {
    Fault::environment(message).at(address.to_string())
}

#[cfg(test)]
mod tests;
