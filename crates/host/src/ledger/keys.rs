//! The keys of a terminal, as they are pressed, and its alternate screen.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crosstalk_core::Fault;
use rustix::termios::{LocalModes, tcgetattr};

use super::change::Change;
use super::owner::{Entry, Ledger};
use super::terminal::{SCREEN, is_in_front, open, set};
use crate::process::wait_readable;

/// The keys of the terminal at standard input, which shows its alternate screen. Dropping it sets the terminal back.
#[derive(Debug)]
pub struct Keys {
    terminal: File,
    /// What it is set to.
    set: LocalModes,
    _entry: Entry,
}

impl Ledger {
    /// The keys of the terminal at standard input, which shows its alternate screen from then on. `None` if it is none,
    /// or not this program's to read.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub fn keys(&self) -> Result<Option<Keys>, Fault> {
        if !io::stdin().is_terminal() {
            return Ok(None);
        }
        let path = fs::read_link("/proc/self/fd/0").unwrap_or_default();
        let Ok(mut terminal) = open(&path) else { return Ok(None) };
        let (true, Ok(modes)) = (is_in_front(&terminal), tcgetattr(&terminal)) else { return Ok(None) };
        let set = modes.local_modes - (LocalModes::ICANON | LocalModes::ECHO);
        let entry = self.enter(Change::Terminal {
            path,
            original: modes.local_modes.bits(),
            set: set.bits(),
            what: "a terminal's modes".into(),
        })?;
        let _ = terminal.write_all(SCREEN[0].as_bytes());
        let keys = Keys { terminal, set, _entry: entry };
        keys.hold();
        Ok(Some(keys))
    }
}

impl Keys {
    /// Waits for keys at most for a time. Returns their bytes as far as they fit.
    pub fn pressed<'a>(&self, time: Duration, buffer: &'a mut [u8]) -> &'a [u8] {
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
