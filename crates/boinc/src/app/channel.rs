//! Messages between client and application, through a file that the client maps.
//!
//! `boinc_mmap_file` holds eight channels of 1,024 bytes each (`lib/app_ipc.h`). A channel's first byte is
//! not 0 while a message waits to be read; the other 1,023 bytes hold the message, which ends in a zero. The
//! sender writes the message only when the byte is 0, and then sets it; the reader clears it. Reading and
//! writing the file accesses the same pages as the client's mapping (mmap(2), `MAP_SHARED`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The file's name in the slot directory.
const FILE: &str = "boinc_mmap_file";

/// Bytes of a channel.
const SIZE: usize = 1024;

/// A channel, by its position in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// From the client: `<suspend/>`, `<resume/>`, `<quit/>`, `<abort/>`.
    Control = 0,
    /// From the client, once a second: `<heartbeat/>`.
    Heartbeat = 4,
    /// To the client: CPU time, and the fraction done.
    Status = 5,
}

/// The channels of one task, by which it exchanges messages with the client.
#[derive(Debug)]
pub struct Channels(File);

impl Channels {
    /// Opens those of a slot directory; `None` where there is no client.
    pub fn open(folder: &Path) -> Option<Self> {
        OpenOptions::new().read(true).write(true).open(folder.join(FILE)).ok().map(Channels)
    }

    /// Takes the message that waits, if there is one.
    pub fn take_message(&self, channel: Channel) -> io::Result<Option<String>> {
        let at = offset(channel);
        let mut flag = [0];
        if self.0.read_at(&mut flag, at)? != 1 || flag == [0] {
            return Ok(None);
        }
        let mut message = [0; SIZE - 1];
        let read = self.0.read_at(&mut message, at + 1)?;
        self.0.write_all_at(&[0], at)?;
        let end = message[..read].iter().position(|byte| *byte == 0).unwrap_or(read);
        Ok(Some(String::from_utf8_lossy(&message[..end]).into_owned()))
    }

    /// Sends a message unless the one before still waits; returns whether it was sent.
    pub fn send_message(&self, channel: Channel, message: &str) -> io::Result<bool> {
        let at = offset(channel);
        let mut flag = [0];
        if self.0.read_at(&mut flag, at)? == 1 && flag != [0] {
            return Ok(false);
        }
        let mut bytes = [0; SIZE - 1];
        let length = message.len().min(SIZE - 2);
        bytes[..length].copy_from_slice(&message.as_bytes()[..length]);
        self.0.write_all_at(&bytes, at + 1)?;
        self.0.write_all_at(&[1], at)?;
        Ok(true)
    }
}

fn offset(channel: Channel) -> u64 {
    channel as u64 * SIZE as u64
}

/// Creates the channels as a client does, for tests.
#[cfg(test)]
pub fn create_channels(folder: &Path) -> Channels {
    std::fs::write(folder.join(FILE), vec![0; 8 * SIZE]).expect("writes");
    Channels::open(folder).expect("is there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_until_it_is_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(Channels::open(folder.path()).is_none());
        let client = create_channels(folder.path());
        let app = Channels::open(folder.path()).expect("is there");
        assert_eq!(app.take_message(Channel::Control).expect("reads"), None);
        assert!(client.send_message(Channel::Control, "<suspend/>").expect("writes"));
        assert!(!client.send_message(Channel::Control, "<quit/>").expect("one waits"));
        assert_eq!(app.take_message(Channel::Heartbeat).expect("reads"), None);
        assert_eq!(app.take_message(Channel::Control).expect("reads").as_deref(), Some("<suspend/>"));
        assert_eq!(app.take_message(Channel::Control).expect("reads"), None);
    }

    #[test]
    fn channels_lie_where_the_client_has_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let app = create_channels(folder.path());
        app.send_message(Channel::Status, "x").expect("writes");
        let bytes = std::fs::read(folder.path().join(FILE)).expect("reads");
        assert_eq!(bytes.len(), 8192);
        assert_eq!(bytes[5120..5123], [1, b'x', 0]);
        assert!(bytes[..5120].iter().chain(&bytes[5122..]).all(|byte| *byte == 0));
    }

    #[test]
    fn a_long_message_is_cut_and_a_short_file_holds_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let app = create_channels(folder.path());
        app.send_message(Channel::Status, &"x".repeat(5000)).expect("writes");
        assert_eq!(app.take_message(Channel::Status).expect("reads").map(|m| m.len()), Some(1022));
        std::fs::write(folder.path().join(FILE), "").expect("writes");
        assert_eq!(app.take_message(Channel::Control).expect("reads"), None);
    }
}
