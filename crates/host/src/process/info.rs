//! Whose a process is, and its control group of version 2, without a file of `/proc`: by an ioctl of its pidfd
//! (include/uapi/linux/pidfd.h, Linux 6.13).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use crate::errno::check;

/// `struct pidfd_info`, in its first version.
#[repr(C)]
#[derive(Default)]
struct Raw {
    mask: u64,
    cgroup: u64,
    pid: u32,
    tgid: u32,
    ppid: u32,
    real_user: u32,
    others: [u32; 8],
}

/// `PIDFD_GET_INFO`: `_IOWR(0xFF, 11, struct pidfd_info)`.
const GET_INFO: u32 = 3 << 30 | (size_of::<Raw>() as u32) << 16 | 0xFF << 8 | 11;
/// `PIDFD_INFO_CREDS` and `PIDFD_INFO_CGROUPID`.
const CREDENTIALS: u64 = 1 << 1;
const CGROUP: u64 = 1 << 2;

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its real user.
    pub real_user: u32,
    /// The id of its control group of version 2, which no other group ever has: the inode number of its directory.
    pub cgroup: u64,
}

impl ProcessInfo {
    /// That of a process, by the id that this PID namespace has for it. `None` if it has ended, or the kernel is older.
    pub fn of(pid: u32) -> Option<Self> {
        // SAFETY: takes two integers, and returns a new descriptor or −1.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::c_long::from(pid), 0) };
        let raw = check(raw as libc::c_int).ok()?;
        // SAFETY: the kernel has just given this descriptor to us and nobody else.
        let process = unsafe { OwnedFd::from_raw_fd(raw) };
        let mut info = Raw { mask: CREDENTIALS | CGROUP, ..Raw::default() };
        // SAFETY: the request names the structure's size, and it is valid for writing.
        check(unsafe { libc::ioctl(process.as_raw_fd(), GET_INFO as _, ptr::from_mut(&mut info)) }).ok()?;
        let is_whole = info.mask & (CREDENTIALS | CGROUP) == CREDENTIALS | CGROUP;
        is_whole.then_some(ProcessInfo { real_user: info.real_user, cgroup: info.cgroup })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_its_users() {
        assert_eq!(size_of::<Raw>(), 64, "the first version's");
        assert_eq!(ProcessInfo::of(u32::MAX), None);
        let Some(info) = ProcessInfo::of(std::process::id()) else {
            eprintln!("skipped: the kernel is older than 6.13");
            return;
        };
        // SAFETY: only reads this process's credentials.
        assert_eq!(info.real_user, unsafe { libc::getuid() });
        assert!(info.cgroup > 0);
    }
}
