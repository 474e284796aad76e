//! The mounts of this mount namespace (proc_pid_mountinfo(5)), and whether their list has changed.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel;

const LIST: &str = "/proc/self/mountinfo";
/// File systems of the kernel, which hold no programs.
const WITHOUT_PROGRAMS: [&str; 19] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "rpc_pipefs",
    "securityfs",
    "sysfs",
    "tracefs",
];

/// Where file systems are mounted from which programs may be executed, each place once.
///
/// # Errors
/// If `/proc` is not mounted.
pub fn with_programs() -> io::Result<Vec<PathBuf>> {
    Ok(parse(&kernel::text(LIST)?))
}

/// A line: ID, parent, device, root, place, options, any number of tags, `-`, kind, source, options.
fn parse(mountinfo: &str) -> Vec<PathBuf> {
    let place = |line: &str| {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(4);
        let (place, options) = (mount.next()?, mount.next()?);
        let kind = system.split(' ').next()?;
        let executes = !options.split(',').any(|option| option == "noexec");
        (executes && !WITHOUT_PROGRAMS.contains(&kind)).then(|| unescape(place))
    };
    let mut places: Vec<PathBuf> = mountinfo.lines().filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// A path as the list of mounts has it: blanks and the like are written as three octal digits.
pub fn unescape(text: &str) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(|d| std::str::from_utf8(d).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = &tail[3..];
            }
            None => {
                plain.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// Whether the list of mounts has changed.
#[derive(Debug)]
pub struct MountChanges {
    list: File,
}

impl MountChanges {
    /// Notes changes from now on.
    ///
    /// # Errors
    /// If `/proc` is not mounted.
    pub fn open() -> io::Result<Self> {
        Ok(MountChanges { list: File::open(LIST)? })
    }

    /// Whether it has changed since this was called last (`EPOLLPRI`, proc_pid_mounts(5)).
    pub fn is_new(&self) -> bool {
        let mut polled = [PollFd::new(&self.list, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
            && polled[0].revents().intersects(PollFlags::PRI | PollFlags::ERR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn mounts_from_which_nothing_is_executed_are_left_out() {
        let list = "24 1 0:22 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                    25 24 0:23 / /proc rw - proc proc rw\n\
                    26 24 0:24 / /run rw,nosuid,noexec - tmpfs tmpfs rw\n\
                    27 24 0:25 / /a\\040b rw - tmpfs tmpfs rw,noexec\n\
                    28 24 0:26 / /a\\040b rw - ext4 /dev/sdb rw\ncut off";
        assert_eq!(parse(list), [Path::new("/"), Path::new("/a b")]);
    }

    #[test]
    fn a_name_is_read_as_it_was_written() {
        for name in ["a b", "\\", "\\40", "a\tb", ""] {
            let written = name.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
            assert_eq!(unescape(&written), Path::new(name));
        }
    }

    #[test]
    fn the_list_is_old_until_it_changes() {
        assert!(!MountChanges::open().expect("is there").is_new());
    }
}
