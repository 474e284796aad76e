//! A terminal that passes keys on as they are pressed, and does not print them. It shows its alternate screen, which does
//! not scroll away what was there before. Both are listed in the ledger: else a program that is killed leaves a shell in
//! which nothing that is typed can be seen.
//!
//! Sources: termios(3); console_codes(4); XTerm Control Sequences, private mode 1049.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crosstalk_core::Fault;
use rustix::fs::OFlags;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

/// Shows the alternate screen, and the former one again.
pub(super) const SCREEN: [&str; 2] = ["\x1b[?1049h\x1b[H", "\x1b[?1049l"];

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

/// Sets a terminal back, and shows its former screen. Returns false if it is gone, or another program has set its modes
/// since: a shell does, when its command is killed, and knows nothing of screens.
pub(super) fn restore(path: &Path, original: u32, ours: u32) -> Result<bool, Fault> {
    let Ok(mut terminal) = open(path) else { return Ok(false) };
    let _ = terminal.write_all(SCREEN[1].as_bytes());
    if !tcgetattr(&terminal).is_ok_and(|now| now.local_modes.bits() == ours) {
        return Ok(false);
    }
    set(&terminal, LocalModes::from_bits_retain(original)).map(|()| true).map_err(|e| {
        Fault::environment(format!("cannot set the terminal back: {e}"))
            .at(path.display().to_string())
            .remedy("type: stty sane")
    })
}
