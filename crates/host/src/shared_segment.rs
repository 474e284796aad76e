//! Shared memory segments of System V (shmget(2)), which leave nothing behind.
//!
//! A segment is marked for removal as soon as it is attached, so that the kernel frees it when its last process
//! ends or detaches, also after `kill -9` (shmctl(2), `IPC_RMID`).

use std::io;
use std::ptr;

use crosstalk_core::Fault;

use crate::errno::check;
use crate::process::cannot;

/// A segment that is attached to this process. A forked copy of the process shares it.
#[derive(Debug)]
pub struct SharedSegment {
    base: *mut u8,
    bytes: usize,
}

impl SharedSegment {
    /// A new segment of so many bytes, all zero.
    ///
    /// # Errors
    /// An environment fault if the kernel has no room or no number for another segment (`kernel.shmall`,
    /// `kernel.shmmni`).
    pub fn new(bytes: usize) -> Result<Self, Fault> {
        let fault = |e: io::Error| {
            cannot("make a shared memory segment", &e)
                .remedy("remove unused ones (ipcs -m, ipcrm), or raise kernel.shmmni")
        };
        // SAFETY: takes three integers. The segment is new, as its key is private.
        let id = check(unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | 0o600) })
            .map_err(fault)?;
        // SAFETY: null lets the kernel choose an address at which nothing is mapped.
        let base = unsafe { libc::shmat(id, ptr::null(), 0) };
        // The error of shmat, before another call changes it.
        let attached = if base as isize == -1 { Err(io::Error::last_os_error()) } else { Ok(base.cast()) };
        // SAFETY: this command takes no buffer.
        unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) };
        Ok(SharedSegment { base: attached.map_err(fault)?, bytes })
    }

    /// Copies `from` to the beginning of the segment.
    ///
    /// # Panics
    /// If it does not fit.
    pub fn write(&mut self, from: &[u8]) {
        assert!(from.len() <= self.bytes, "{} bytes do not fit into {}", from.len(), self.bytes);
        // SAFETY: the mapping has room for them, and `from` cannot overlap it, because no reference to it exists.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.base, from.len()) };
    }

    /// Copies the beginning of the segment to `into`.
    ///
    /// # Panics
    /// If the segment is shorter.
    pub fn read(&self, into: &mut [u8]) {
        assert!(into.len() <= self.bytes, "{} bytes are more than {}", into.len(), self.bytes);
        // SAFETY: as in `write`.
        unsafe { ptr::copy_nonoverlapping(self.base, into.as_mut_ptr(), into.len()) };
    }
}

impl Drop for SharedSegment {
    fn drop(&mut self) {
        // SAFETY: attached by `new`; no reference to it exists.
        unsafe { libc::shmdt(self.base.cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_written_is_read_and_the_segment_goes() {
        let mut segment = SharedSegment::new(8192).expect("makes");
        segment.write(b"some bytes");
        let mut read = [0; 12];
        segment.read(&mut read);
        assert_eq!(&read, b"some bytes\0\0");
        let mapped = || fs::read_to_string("/proc/self/maps").expect("reads").matches("SYSV").count();
        let before = mapped();
        drop(segment);
        assert_eq!(mapped(), before - 1);
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn a_write_stays_inside() {
        SharedSegment::new(4).expect("makes").write(&[0; 5]);
    }
}
