//! The client as a [`Throttle`].
//!
//! A mode that ends by itself pauses it. Its number of processors (`ncpus` in its `cc_config.xml`) is a
//! lasting setting: the undo ledger holds the former value, and a verb of this program restores it, whether
//! the client runs by then or not.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Seek, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::Ledger;
use crosstalk_host::ledger::Entry;

use super::config::with_cores;
use super::markup::first;
use super::password::{PASSWORD, password};
use super::{Client, ClientSelector, LONGEST, Mode, RunningClient};
use crate::client::Throttle;

/// Its name, for people.
pub const NAME: &str = "BOINC";

/// The hidden verb that calls [`restore_cores`].
const VERB: &str = "boinc-cores";
/// Stands for all processors, in the place of a number.
const ALL: &str = "all";

/// Stands for any owner of the password's file, in the place of a user's number.
const ANY_OWNER: &str = "named";

/// How long an answer may take: foreground work is not sampled meanwhile.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Part of the time for restoring that is kept for starting and for a last check.
const RESERVE: Duration = Duration::from_millis(500);
/// How long that check may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// The code of the mode in which it does not compute.
const NEVER: i32 = 3;

/// A client whose processors and mode are set. Dropping it restores its processors.
pub struct ThrottledClient {
    client: Client,
    /// The verb's arguments before the number: address, password's file, data directory, and the file's
    /// owner.
    undo: [String; 4],
    ledger: Ledger,
    setting: Option<OwnerSetting>,
    /// Whether the mode was set here.
    suspended: bool,
}

/// The owner's number of processors, while another is set.
struct OwnerSetting {
    was: Option<u32>,
    entry: Entry,
}

impl fmt::Debug for ThrottledClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThrottledClient").field("client", &self.client).finish_non_exhaustive()
    }
}

impl ThrottledClient {
    /// Connects to a client, with the password in the file of `selector`, else in its data directory.
    ///
    /// # Errors
    /// Where the password cannot be read or is wrong, or the client does not answer.
    pub fn new(found: &RunningClient, selector: &ClientSelector, ledger: &Ledger) -> Result<Self, Fault> {
        let there = || found.folder.as_ref().map(|folder| folder.join(PASSWORD));
        let file = selector.password.clone().or_else(there).ok_or_else(|| {
            Fault::environment("the data directory of BOINC's client is not known, nor so its password")
                .at(format!("process {}", found.pid))
                .remedy("name the file: --boinc-password-file FILE; or guard as root")
        })?;
        // The undoing process may have another working directory.
        let file = std::path::absolute(&file).unwrap_or(file);
        let user = selector.password.is_none().then_some(found.user);
        let mut client = Client::new(found.address, Some(password(&file, user)?)).within(REPLY_TIMEOUT);
        client.status()?;
        let words = [
            found.address.to_string(),
            file.display().to_string(),
            found.folder.as_ref().map_or_else(String::new, |folder| folder.display().to_string()),
            user.map_or_else(|| ANY_OWNER.into(), |user| user.to_string()),
        ];
        let ledger = ledger.clone();
        Ok(ThrottledClient { client, undo: words, ledger, setting: None, suspended: false })
    }

    /// The owner's setting, which is written to the undo ledger before it is changed.
    fn save_setting(&mut self) -> Result<Option<u32>, Fault> {
        if let Some(setting) = &self.setting {
            return Ok(setting.was);
        }
        let was = self.client.cores()?;
        let number = was.map_or_else(|| ALL.into(), |cores| cores.to_string());
        let words = [&self.undo[..], &[number]].concat();
        let entry = self.ledger.program(VERB, &words, "processors of the BOINC client")?;
        self.setting = Some(OwnerSetting { was, entry });
        Ok(was)
    }
}

impl Throttle for ThrottledClient {
    fn name(&self) -> &str {
        NAME
    }

    fn set_cores(&mut self, cores: Option<usize>) -> Result<(), Fault> {
        let Some(cores) = cores else {
            let Some(was) = self.setting.as_ref().map(|setting| setting.was) else { return Ok(()) };
            self.client.set_cores(was)?;
            return self.setting.take().map_or(Ok(()), |setting| setting.entry.done());
        };
        let cores = u32::try_from(cores).unwrap_or(u32::MAX);
        // Its owner may allow fewer still.
        let most = self.save_setting()?.map_or(cores, |was| was.min(cores));
        self.client.set_cores(Some(most))
    }

    fn suspend(&mut self, time: Duration) -> Result<(), Fault> {
        let status = self.client.status()?;
        let lasts = status.mode_ends_in == 0.0 || status.mode_ends_in > time.as_secs_f64();
        if !self.suspended && status.mode == NEVER && lasts {
            // Its owner has suspended it for longer: that stays.
            return Ok(());
        }
        self.client.set_mode(Mode::Never, Some(time))?;
        self.suspended = true;
        Ok(())
    }

    fn resume(&mut self) -> Result<(), Fault> {
        if std::mem::take(&mut self.suspended) {
            return self.client.set_mode(Mode::Restore, None);
        }
        Ok(())
    }
}

/// Restores a client's number of processors within this time: what the hidden verb does. `words` are its
/// address, its password's file, its data directory, the file's owner, and the number or `all`. It takes five
/// answers; a busy client gives one a second.
///
/// # Errors
/// Where it runs and cannot be reached, or its file cannot be written.
pub fn restore_cores(words: &[String], within: Duration) -> Result<(), Fault> {
    let within = within.saturating_sub(RESERVE).max(within / 2);
    let wrong = || Fault::usage("expected ADDRESS:PORT PASSWORD-FILE FOLDER USER NUMBER");
    let [address, file, folder, user, number] = words else { return Err(wrong()) };
    let address: SocketAddr = address.parse().map_err(|_| wrong())?;
    let cores = if number == ALL { None } else { Some(number.parse().map_err(|_| wrong())?) };
    let user = if user == ANY_OWNER { None } else { Some(user.parse().map_err(|_| wrong())?) };
    let asked = password(Path::new(file), user)
        .and_then(|password| Client::new(address, Some(password)).within_all(within).set_cores(cores));
    match asked {
        // A client that has ended reads its file at its next start.
        Err(_) if TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_err() => {
            rewrite(Path::new(folder), cores)
        }
        asked => asked,
    }
}

/// The same in the file of a client that does not run. An empty path stands for an unknown directory.
fn rewrite(folder: &Path, cores: Option<u32>) -> Result<(), Fault> {
    if folder.as_os_str().is_empty() {
        return Err(Fault::environment("BOINC's client has ended, and its data directory is not known")
            .remedy("start it again, then: crosstalk clean"));
    }
    let path = folder.join("cc_config.xml");
    let at = |e: std::io::Error| Fault::environment(e.to_string()).at(path.display().to_string());
    // Opened once: the folder is another user's, who could put a link there between two calls.
    let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        file => file.map_err(at)?,
    };
    let mut config = String::new();
    (&file).take(LONGEST as u64).read_to_string(&mut config).map_err(at)?;
    // A file of another kind is left alone, wherever a link may lead.
    if first(&config, "cc_config").is_none() {
        return Ok(());
    }
    file.set_len(0).and_then(|()| file.rewind()).map_err(at)?;
    file.write_all(with_cores(&config, cores).as_bytes()).map_err(at)
}

#[cfg(test)]
mod tests;
