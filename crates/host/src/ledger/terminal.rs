//! The modes of a terminal that passes keys on as they are pressed, and does not print them. It is listed in the ledger: else a
//! program that is killed leaves a shell in which nothing that is typed can be seen.
//!
//! Source: termios(3).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crosstalk_core::Fault;
use rustix::fs::OFlags;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

/// Whether its keys go to this program. Another one would be paused for what it sets (SIGTTOU).
pub(super) fn is_in_front(terminal: &File) -> bool {
    tcgetpgrp(terminal).is_ok_and(|group| group == getpgrp())
}

pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOCTTY.bits() as i32;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)
}

pub(super) fn set(terminal: &File, modes: LocalModes) -> io::Result<()> {
    let mut all = tcgetattr(terminal)?;
    all.local_modes = modes;
    Ok(tcsetattr(terminal, OptionalActions::Now, &all)?)
}

/// Sets a terminal back. Returns false if it is gone, or another program has set it since.
pub(super) fn restore(path: &Path, original: u32, ours: u32) -> Result<bool, Fault> {
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
