//! The operations of a running client.

use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use md5::{Digest, Md5};

use super::connection::{Connection, DEADLINE, LONGEST};
use super::markup::{elements, escape, first};
use super::password::PASSWORD;
use super::replies::{Status, Task, tasks};

/// A client's default port.
pub const PORT: u16 = 31416;

/// When a client may compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Never,
    /// As before a mode that was set for a time.
    Restore,
}

/// A client. The first request connects to it, and so does the next one after a connection failed.
pub struct Client {
    address: SocketAddr,
    password: Option<String>,
    deadline: Duration,
    expires: Option<Instant>,
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
        Client { address, password, deadline: DEADLINE, expires: None, connection: None }
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

    /// Limits the wait for all answers together, from now on.
    #[must_use]
    pub fn within_all(self, time: Duration) -> Self {
        Client { deadline: time, expires: Some(Instant::now() + time), ..self }
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

    /// Sets when it may compute: for so long, after which the former mode returns by itself (a dead man's
    /// switch), or for good.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn set_mode(&mut self, mode: Mode, during: Option<Duration>) -> Result<(), Fault> {
        let tag = match mode {
            Mode::Never => "never",
            Mode::Restore => "restore",
        };
        let seconds = during.map_or(0.0, |during| during.as_secs_f64());
        self.command(&format!("<set_run_mode>\n<{tag}/>\n<duration>{seconds:.3}</duration>\n</set_run_mode>"))
    }

    /// Attaches it to a project.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn attach(&mut self, url: &str, key: &str, name: &str) -> Result<(), Fault> {
        self.command(&format!(
            "<project_attach>\n<project_url>{}</project_url>\n<authenticator>{}</authenticator>\n\
             <project_name>{}</project_name>\n</project_attach>",
            escape(url),
            escape(key),
            escape(name)
        ))
    }

    /// Makes it contact the project at `url` now, without its usual delays.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn update(&mut self, url: &str) -> Result<(), Fault> {
        self.command(&format!(
            "<project_update>\n<project_url>{}</project_url>\n</project_update>",
            escape(url)
        ))
    }

    /// Makes it try failed transfers again now.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn retry_transfers(&mut self) -> Result<(), Fault> {
        self.command("<network_available/>")
    }

    /// Ends it, and its tasks with it.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn quit(&mut self) -> Result<(), Fault> {
        self.command("<quit/>")
    }

    /// Sends an operation whose reply is success or refusal.
    fn command(&mut self, operation: &str) -> Result<(), Fault> {
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
        let mut connection = Connection::open(self.address, self.deadline, LONGEST)?.until(self.expires);
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

/// The MD5 in lower-case hexadecimal digits, as BOINC writes it.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
