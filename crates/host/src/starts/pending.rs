//! Starts of programs that wait for an answer: `FAN_OPEN_EXEC_PERM` of fanotify(7), Linux 5.0.
//!
//! A mount is marked, and only what is executed through it is held. A mount of another mount namespace is another one,
//! also if it shows the same files. For one program the kernel opens several files: a script, its interpreter, and the
//! loader of shared libraries.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{ptr, slice};

use crate::errno::{check, check_size};
use libc::fanotify_event_metadata as Metadata;

/// Bytes for events that are read at once.
const BUFFER: usize = 4096;

/// Starts of programs through marked mounts. All that wait continue when this and all [`PendingStart`]s are dropped, or
/// this process ends. So no other process may have its descriptor: start none.
#[derive(Debug)]
pub struct PendingStarts {
    group: Arc<OwnedFd>,
}

/// A file that a process executes, and waits. The process continues when this is dropped.
#[derive(Debug)]
pub struct PendingStart {
    pid: u32,
    file: File,
    group: Arc<OwnedFd>,
}

impl PendingStarts {
    /// Marks nothing yet.
    ///
    /// # Errors
    /// If this user may not, or the kernel has no such events.
    pub fn open() -> io::Result<Self> {
        let flags = libc::FAN_CLASS_CONTENT
            | libc::FAN_CLOEXEC
            | libc::FAN_UNLIMITED_QUEUE
            | libc::FAN_UNLIMITED_MARKS;
        let files = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_LARGEFILE;
        // SAFETY: takes two integers, and returns a new descriptor or −1.
        let raw = check(unsafe { libc::fanotify_init(flags, files as libc::c_uint) })?;
        // SAFETY: the kernel has just given this descriptor to us and nobody else.
        Ok(PendingStarts { group: Arc::new(unsafe { OwnedFd::from_raw_fd(raw) }) })
    }

    /// Holds what is executed through the mount at `path` from now on.
    ///
    /// # Errors
    /// If there is none, or the kernel refuses.
    pub fn mark(&self, path: &Path) -> io::Result<()> {
        self.set(libc::FAN_MARK_MOUNT, &CString::new(path.as_os_str().as_bytes())?)
    }

    fn set(&self, flags: libc::c_uint, path: &CStr) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the path ends in a zero and outlives the call.
        check(unsafe {
            libc::fanotify_mark(
                self.group.as_raw_fd(),
                libc::FAN_MARK_ADD | flags,
                libc::FAN_OPEN_EXEC_PERM,
                libc::AT_FDCWD,
                path.as_ptr(),
            )
        })
        .map(drop)
    }

    /// Holds this file no more, through whichever mount it is executed.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn ignore(&self, start: &PendingStart) -> io::Result<()> {
        let path = CString::new(format!("/proc/self/fd/{}", start.file.as_raw_fd()))?;
        self.set(libc::FAN_MARK_IGNORED_MASK | libc::FAN_MARK_IGNORED_SURV_MODIFY, &path)
    }

    /// Adds those that wait now; waits for one. A signal with a handler ends that: then there may be none.
    ///
    /// # Errors
    /// Those of read(2), and that of open(2) for the first file, if that cannot be opened for this process: then the kernel
    /// refuses to execute it, and the next call returns those that wait after it.
    pub fn read(&self, starts: &mut Vec<PendingStart>) -> io::Result<()> {
        // Mostly there is one event: the rest of the buffer is not touched.
        let mut bytes = [MaybeUninit::<u8>::uninit(); BUFFER];
        // SAFETY: pointer and length describe the live buffer.
        let read =
            check_size(unsafe { libc::read(self.group.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) });
        match read {
            // SAFETY: the kernel has written so many bytes.
            Ok(length) => self.parse(unsafe { slice::from_raw_parts(bytes.as_ptr().cast(), length) }, starts),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn parse(&self, mut bytes: &[u8], starts: &mut Vec<PendingStart>) {
        while bytes.len() >= size_of::<Metadata>() {
            // SAFETY: so many bytes are there, and all fields are integers, of which any bits are a value.
            let event: Metadata = unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) };
            // A queue that overflows has no file.
            if event.fd >= 0 {
                // SAFETY: the kernel has opened this descriptor for us with the event.
                let file = unsafe { File::from_raw_fd(event.fd) };
                let group = Arc::clone(&self.group);
                starts.push(PendingStart { pid: event.pid.try_into().unwrap_or(0), file, group });
            }
            let length = (event.event_len as usize).max(size_of::<Metadata>());
            bytes = bytes.get(length..).unwrap_or_default();
        }
    }
}

impl AsFd for PendingStarts {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.group.as_fd()
    }
}

impl PendingStart {
    /// The process, as this PID namespace numbers it; 0 if it is outside.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file that it executes.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path of the file, as this process sees it.
    pub fn path(&self) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd())).ok()
    }

    /// Whether the file is a script: the kernel opens its interpreter next (execve(2)).
    pub fn is_script(&self) -> bool {
        let mut first = [0; 2];
        self.file.read_at(&mut first, 0).is_ok_and(|length| length == 2) && first == *b"#!"
    }
}

impl Drop for PendingStart {
    fn drop(&mut self) {
        let answer = libc::fanotify_response { fd: self.file.as_raw_fd(), response: libc::FAN_ALLOW };
        // If the process was killed meanwhile, nobody waits for the answer.
        // SAFETY: pointer and length describe the live structure.
        unsafe {
            libc::write(self.group.as_raw_fd(), ptr::from_ref(&answer).cast(), size_of_val(&answer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_cut_off_or_has_no_file_is_skipped() {
        let Ok(starts) = PendingStarts::open() else {
            eprintln!("skipped: this user or kernel has no fanotify permission events");
            return;
        };
        let lost = Metadata {
            event_len: size_of::<Metadata>() as u32,
            vers: 3,
            reserved: 0,
            metadata_len: size_of::<Metadata>() as u16,
            mask: 0x4000,
            fd: -1,
            pid: 0,
        };
        // SAFETY: the structure has no padding: its fields add up to its size.
        let bytes: [u8; size_of::<Metadata>()] = unsafe { std::mem::transmute(lost) };
        let mut read = Vec::new();
        [&bytes[..], &bytes[..7]].iter().for_each(|bytes| starts.parse(bytes, &mut read));
        assert!(read.is_empty());
        assert!(starts.mark(Path::new("/no/such/mount")).is_err());
    }
}
