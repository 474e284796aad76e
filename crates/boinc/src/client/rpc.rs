//! What can be asked of a running client.

use std::fmt;
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::regular;
use md5::{Digest, Md5};

use super::conversation::{Conversation, DEADLINE, LONGEST};
use super::dialect::{elements, escape, first};
use super::found::FOLDERS;
use super::told::{Status, Task, tasks};

/// Where a client listens unless it is told otherwise.
pub const PORT: u16 = 31416;

/// The file in a client's data directory that holds the password.
pub const PASSWORD: &str = "gui_rpc_auth.cfg";

/// The longest password that a client takes, in bytes.
const LONGEST_PASSWORD: u64 = 255;

/// When a client may compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Not at all.
    Never,
    /// As before a mode that was set for a time.
    Restore,
}

/// A client. It is connected to when it is first asked, and again after it went away.
pub struct Client {
    address: SocketAddr,
    password: Option<String>,
    deadline: Duration,
    over: Option<Instant>,
    conversation: Option<Conversation>,
}

impl fmt::Debug for Client {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the BOINC client at {}", self.address)
    }
}

impl Client {
    /// The one at `address`. Without a password it can only be looked at, and only
    /// from its own machine.
    pub fn new(address: SocketAddr, password: Option<String>) -> Self {
        Client { address, password, deadline: DEADLINE, over: None, conversation: None }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits no longer than this for each answer.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Waits no longer than this for all answers together, from now on.
    #[must_use]
    pub fn within_all(self, time: Duration) -> Self {
        Client { deadline: time, over: Some(Instant::now() + time), ..self }
    }

    /// Its version, as in 7.20.5.
    ///
    /// # Errors
    /// As all of these: when it cannot be reached, answers late or with nonsense, or refuses.
    pub fn version(&mut self) -> Result<[u32; 3], Fault> {
        let reply = self.ask("<exchange_versions>\n<name>crosstalk</name>\n</exchange_versions>")?;
        let version = first(&reply, "server_version").ok_or_else(|| self.nonsense("its version"))?;
        let part = |name| first(version.body, name).and_then(|e| e.value()).unwrap_or(0);
        Ok([part("major"), part("minor"), part("release")])
    }

    /// Its tasks.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn tasks(&mut self) -> Result<Vec<Task>, Fault> {
        let reply = self.ask("<get_results>\n<active_only>0</active_only>\n</get_results>")?;
        let results = first(&reply, "results").ok_or_else(|| self.nonsense("its tasks"))?;
        Ok(tasks(results.body))
    }

    /// Whether it may compute.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn status(&mut self) -> Result<Status, Fault> {
        let reply = self.ask("<get_cc_status/>")?;
        Status::of(&reply).ok_or_else(|| self.nonsense("its status"))
    }

    /// Sets when it may compute: for so long, after which it is as before by itself
    /// (a dead man's switch), or for good.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn set_mode(&mut self, mode: Mode, during: Option<Duration>) -> Result<(), Fault> {
        let tag = match mode {
            Mode::Never => "never",
            Mode::Restore => "restore",
        };
        let seconds = during.map_or(0.0, |during| during.as_secs_f64());
        self.order(&format!("<set_run_mode>\n<{tag}/>\n<duration>{seconds:.3}</duration>\n</set_run_mode>"))
    }

    /// Attaches it to a project.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn attach(&mut self, url: &str, key: &str, name: &str) -> Result<(), Fault> {
        self.order(&format!(
            "<project_attach>\n<project_url>{}</project_url>\n<authenticator>{}</authenticator>\n\
             <project_name>{}</project_name>\n</project_attach>",
            escape(url),
            escape(key),
            escape(name)
        ))
    }

    /// Has it talk to the project at `url` now, whatever was to be waited for.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn update(&mut self, url: &str) -> Result<(), Fault> {
        self.order(&format!(
            "<project_update>\n<project_url>{}</project_url>\n</project_update>",
            escape(url)
        ))
    }

    /// Has it try all transfers again that wait after a failure.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn retry_transfers(&mut self) -> Result<(), Fault> {
        self.order("<network_available/>")
    }

    /// Has it end, and its tasks with it.
    ///
    /// # Errors
    /// See [`Client::version`].
    pub fn quit(&mut self) -> Result<(), Fault> {
        self.order("<quit/>")
    }

    /// Asks for something that is only done or refused.
    fn order(&mut self, operation: &str) -> Result<(), Fault> {
        let reply = self.ask(operation)?;
        if first(&reply, "success").is_some() {
            return Ok(());
        }
        let status =
            first(&reply, "status").map_or_else(String::new, |code| format!(" (code {})", code.text()));
        Err(self.fault(format!("the BOINC client did not do `{}`{status}", name(operation))))
    }

    /// Asks on the connection there is; on a new one where there is none or it broke.
    fn ask(&mut self, operation: &str) -> Result<String, Fault> {
        let mut conversation = match self.conversation.take() {
            Some(conversation) => conversation,
            None => self.connect()?,
        };
        let reply = conversation.ask(operation)?;
        self.refused(operation, &reply)?;
        // Only now: after a fault the next request begins anew.
        self.conversation = Some(conversation);
        Ok(reply)
    }

    fn connect(&self) -> Result<Conversation, Fault> {
        let mut conversation = Conversation::open(self.address, self.deadline, LONGEST)?.until(self.over);
        let Some(password) = &self.password else {
            return Ok(conversation);
        };
        let reply = conversation.ask("<auth1/>")?;
        let nonce = first(&reply, "nonce").ok_or_else(|| self.nonsense("a number to sign"))?.text();
        let hash = md5_hex(format!("{nonce}{password}").as_bytes());
        let reply = conversation.ask(&format!("<auth2>\n<nonce_hash>{hash}</nonce_hash>\n</auth2>"))?;
        if first(&reply, "authorized").is_none() {
            return Err(self.unauthorized());
        }
        Ok(conversation)
    }

    /// A fault where the reply is a refusal.
    fn refused(&self, operation: &str, reply: &str) -> Result<(), Fault> {
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

    fn nonsense(&self, what: &str) -> Fault {
        self.fault(format!("the BOINC client did not tell {what}"))
    }

    fn fault(&self, message: String) -> Fault {
        Fault::environment(message).at(self.address.to_string())
    }
}

/// The password in a file. One that nobody named, but that was found by a process of `user`, must
/// also belong to that user: everybody can call a process `boinc` and put a link beside it.
///
/// # Errors
/// When it cannot be read, or is another's.
pub(super) fn password(path: &Path, user: Option<u32>) -> Result<String, Fault> {
    let place = || path.display().to_string();
    let unreadable = |e: Error| {
        let remedy = match e.kind() {
            ErrorKind::PermissionDenied => {
                "run as root, or become a member of the group `boinc` (`usermod -aG boinc $USER`)"
            }
            _ => "name the client's gui_rpc_auth.cfg: --boinc-password-file FILE",
        };
        Fault::environment(format!("cannot read the BOINC client's password: {e}")).at(place()).remedy(remedy)
    };
    let file = regular::open(path).map_err(unreadable)?;
    if user.is_some_and(|user| !belongs(&file, path, user)) {
        let why = "the BOINC client's password belongs to another user than its process";
        return Err(Fault::environment(why)
            .at(place())
            .remedy("if it is the right one, name it: --boinc-password-file FILE"));
    }
    let mut text = String::new();
    file.take(LONGEST_PASSWORD).read_to_string(&mut text).map_err(unreadable)?;
    Ok(text.lines().next().unwrap_or_default().trim().to_string())
}

/// Whether an open file is that user's, and no third one's link leads there. Packages keep it root's,
/// for the user whose data directory they have made.
fn belongs(file: &File, path: &Path, user: u32) -> bool {
    let packaged = || {
        let folder = path.parent().filter(|folder| FOLDERS.iter().any(|usual| Path::new(usual) == *folder));
        folder.is_some_and(|folder| fs::metadata(folder).is_ok_and(|told| told.uid() == user))
    };
    let entry = fs::symlink_metadata(path).is_ok_and(|told| [0, user].contains(&told.uid()));
    let owner = file.metadata().map(|told| told.uid());
    entry && owner.is_ok_and(|owner| owner == user || (owner == 0 && packaged()))
}

/// The operation's name, without what it holds: that may be a key.
fn name(operation: &str) -> &str {
    let rest = operation.trim_start_matches('<');
    &rest[..rest.find(['>', '/', '\n', ' ']).unwrap_or(rest.len())]
}

/// MD5, as BOINC writes it: in lower-case hexadecimal digits.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
