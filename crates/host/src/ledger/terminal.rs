//! A terminal that passes keys on as they are pressed, and does not print them. It is listed in the ledger: else a
//! program that is killed leaves a shell in which nothing that is typed can be seen.
//!
//! Source: termios(3).

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use rustix::fs::OFlags;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

use super::change::Change;
use super::owner::{Entry, Ledger};
use crate::process::wait_readable;

/// The keys of the terminal at standard input. Dropping it sets the terminal back.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    /// What it is set to.
    set: LocalModes,
    _entry: Entry,
}

impl Ledger {
    /// The keys of the terminal at standard input. `None` if it is none, or not this program's to read.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn keys(&self) -> Result<Option<Keys>, Fault> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let path = fs::read_link("/proc/self/fd/0").unwrap_or_default();
        let Ok(terminal) = open(&path) else { return Ok(None) };
        let (true, Ok(modes)) = (is_in_front(&terminal), tcgetattr(&terminal)) else { return Ok(None) };
        let set = modes.local_modes - (LocalModes::ICANON | LocalModes::ECHO);
        let entry = self.enter(Change::Terminal {
            path,
            original: modes.local_modes.bits(),
            set: set.bits(),
            what: "a terminal's modes".into(),
        })?;
        let keys = Keys { terminal, set, _entry: entry };
        keys.hold();
        Ok(Some(keys))
    }
}

impl Keys {
    /// Waits for keys at most for a time. Returns their bytes as far as they fit.
    pub fn pressed<'a>(&self, time: std::time::Duration, buffer: &'a mut [u8]) -> &'a [u8] {
        let is_ready = wait_readable(&[&self.terminal], Some(time)).is_ok_and(|ready| ready[0]);
        let length = if is_ready { rustix::io::read(&self.terminal, &mut *buffer).unwrap_or(0) } else { 0 };
        if is_ready && length == 0 {
            // It was closed: do not spin.
            std::thread::sleep(time);
        }
        &buffer[..length]
    }

    /// Sets the terminal again: a shell that has paused this program has set it back.
    pub fn hold(&self) {
        if is_in_front(&self.terminal) {
            let _ = set(&self.terminal, self.set);
        }
    }
}

/// Whether its keys go to this program. Another one would be paused for what it sets (SIGTTOU).
fn is_in_front(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

fn set(terminal: &File, modes: LocalModes) -> io::Result<()> {
    let mut all = tcgetattr(terminal)?;
    all.local_modes = modes;
    Ok(tcsetattr(terminal, OptionalActions::Now, &all)?)
}

/// Sets a terminal back. Returns false if it is gone, or another program has set it since.
pub(super) fn restore(path: &PathBuf, original: u32, ours: u32) -> Result<bool, Fault> {
    let Ok(terminal) = open(path) else { return Ok(false) };
    if !tcgetattr(&terminal).is_ok_and(|now| now.local_modes.bits() == ours) {
        return Ok(false);
    }
    set(&terminal, LocalModes::from_bits_retain(original)).map(|()| true).map_err(|e| {
        Fault::environment(format!("cannot set the terminal back: {e}"))
            .at(path.display().to_string())
            .remedy("type: stty sane")
    })
}
