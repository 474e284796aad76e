//! The operations of a running client.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crosstalk_core::Fault;

use crate::digest::md5_hex;
use crate::markup::{elements, first};

use super::connection::{Connection, DEADLINE, LONGEST};
use super::password::PASSWORD;
use super::replies::{Status, Task, tasks};

/// A client's default port.
pub const PORT: u16 = 31416;

/// A client. The first request connects to it, and so does the next one after a connection failed.
pub struct Client {
    address: SocketAddr,
    password: Option<String>,
    deadline: Duration,
    connection: Option<Connection>,
}

impl fmt::Debug for Client {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the BOINC client at {}", self.address)
    }
}

impl Client {
    /// The client at `address`. Without a password it only answers questions, and only from its own machine.
    pub fn new(address: SocketAddr, password: Option<String>) -> Self {
        Client { address, password, deadline: DEADLINE, connection: None }
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Limits the wait for each answer.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Its version, as in 7.20.5.
    ///
    /// # Errors
    /// Like all operations: where the client cannot be reached, answers too late or with something else, or
    /// refuses.
    pub fn version(&mut self) -> Result<[u32; 3], Fault> {
        let reply = self.request("<exchange_versions>\n<name>crosstalk</name>\n</exchange_versions>")?;
        let version = first(&reply, "server_version").ok_or_else(|| self.unexpected("its version"))?;
        let part = |name| first(version.body, name).and_then(|e| e.value()).unwrap_or(0);
        Ok([part("major"), part("minor"), part("release")])
    }

    /// Its tasks.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn tasks(&mut self) -> Result<Vec<Task>, Fault> {
        let reply = self.request("<get_results>\n<active_only>0</active_only>\n</get_results>")?;
        let results = first(&reply, "results").ok_or_else(|| self.unexpected("its tasks"))?;
        Ok(tasks(results.body))
    }

    /// Whether it may compute.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn status(&mut self) -> Result<Status, Fault> {
        let reply = self.request("<get_cc_status/>")?;
        Status::of(&reply).ok_or_else(|| self.unexpected("its status"))
    }

    /// Pauses it for so long, after which its former mode returns by itself (a dead man's switch).
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn pause(&mut self, time: Duration) -> Result<(), Fault> {
        self.set_mode("never", time)
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn resume(&mut self) -> Result<(), Fault> {
        self.set_mode("restore", Duration::ZERO)
    }

    fn set_mode(&mut self, mode: &str, time: Duration) -> Result<(), Fault> {
        let seconds = time.as_secs_f64();
        self.command(&format!(
            "<set_run_mode>\n<{mode}/>\n<duration>{seconds:.3}</duration>\n</set_run_mode>"
        ))
    }

    /// Sends an operation, by its text, whose reply is success or refusal.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn command(&mut self, operation: &str) -> Result<(), Fault> {
        let reply = self.request(operation)?;
        if first(&reply, "success").is_some() {
            return Ok(());
        }
        let status =
            first(&reply, "status").map_or_else(String::new, |code| format!(" (code {})", code.text()));
        Err(self.fault(format!("the BOINC client did not do `{}`{status}", name(operation))))
    }

    /// Sends an operation on the open connection, or on a new one.
    fn request(&mut self, operation: &str) -> Result<String, Fault> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let reply = connection.request(operation)?;
        self.check_refusal(operation, &reply)?;
        // Only now: after a fault the next request connects again.
        self.connection = Some(connection);
        Ok(reply)
    }

    fn connect(&self) -> Result<Connection, Fault> {
        let mut connection = Connection::open(self.address, self.deadline, LONGEST)?;
        let Some(password) = &self.password else {
            return Ok(connection);
        };
        let reply = connection.request("<auth1/>")?;
        let nonce = first(&reply, "nonce").ok_or_else(|| self.unexpected("a nonce to sign"))?.text();
        let hash = md5_hex(format!("{nonce}{password}").as_bytes());
        let reply = connection.request(&format!("<auth2>\n<nonce_hash>{hash}</nonce_hash>\n</auth2>"))?;
        if first(&reply, "authorized").is_none() {
            return Err(self.unauthorized());
        }
        Ok(connection)
    }

    /// Returns a fault where the reply is a refusal.
    fn check_refusal(&self, operation: &str, reply: &str) -> Result<(), Fault> {
        for element in elements(reply) {
            match element.name {
                "unauthorized" => return Err(self.unauthorized()),
                "error" => {
                    let why = element.text();
                    return Err(self.fault(format!("the BOINC client refuses `{}`: {why}", name(operation))));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn unauthorized(&self) -> Fault {
        self.fault("the BOINC client refuses the password".into())
            .remedy(format!("take the one in `{PASSWORD}` of its data directory"))
    }

    fn unexpected(&self, what: &str) -> Fault {
        self.fault(format!("the BOINC client did not report {what}"))
    }

    fn fault(&self, message: String) -> Fault {
        Fault::environment(message).at(self.address.to_string())
    }
}

/// The operation's name, without its contents: they may include a key.
fn name(operation: &str) -> &str {
    let rest = operation.trim_start_matches('<');
    &rest[..rest.find(['>', '/', '\n', ' ']).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests;
