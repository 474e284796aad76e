//! The mounts of this mount namespace (proc_pid_mountinfo(5)), and whether their list has changed.

use std::collections::BTreeMap;
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

/// File systems that ask a server or another process for what they hold, and wait for it. Those of FUSE have more
/// names: `fuse.sshfs`.
const REMOTE: [&str; 17] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "fuse",
    "fuseblk",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "smb3",
];

/// Where file systems are mounted from which programs may be executed, each place once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramMounts {
    /// Those of this machine.
    pub local: Vec<PathBuf>,
    /// Those that may wait for another machine or process, and what is mounted in them, with the kind of file system.
    pub remote: Vec<(PathBuf, String)>,
}

impl ProgramMounts {
    /// Those of this mount namespace.
    ///
    /// # Errors
    /// If `/proc` is not mounted.
    pub fn read() -> io::Result<Self> {
        Ok(Self::parse(&kernel::text(LIST)?))
    }

    /// A line: ID, parent, device, root, place, options, any number of tags, `-`, kind, source, options. Of two at one
    /// place the later one is seen.
    fn parse(mountinfo: &str) -> Self {
        let mut kinds = BTreeMap::new();
        for line in mountinfo.lines() {
            if let Some((place, kind)) = parse(line) {
                kinds.insert(place, kind);
            }
        }
        let mut found = ProgramMounts::default();
        // A place comes before those in it.
        for (place, kind) in kinds {
            // The way to it leads through what it is in.
            let outer = found.remote.iter().find(|(outer, _)| place.starts_with(outer));
            match (kind, outer) {
                (None, _) => {}
                (Some(kind), _) if is_remote(kind) => found.remote.push((place, kind.into())),
                (Some(_), Some((_, outer))) => {
                    let outer = outer.clone();
                    found.remote.push((place, outer));
                }
                (Some(_), None) => found.local.push(place),
            }
        }
        found
    }
}

/// The place of a mount, and its kind if programs may be executed from it.
fn parse(line: &str) -> Option<(PathBuf, Option<&str>)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(4);
    let (place, options) = (mount.next()?, mount.next()?);
    let kind = system.split(' ').next()?;
    let executes = !options.split(',').any(|option| option == "noexec");
    Some((unescape(place), Some(kind).filter(|kind| executes && !WITHOUT_PROGRAMS.contains(kind))))
}

fn is_remote(kind: &str) -> bool {
    REMOTE.contains(&kind) || kind.starts_with("fuse.")
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
        let found = ProgramMounts::parse(list);
        assert_eq!(found.local, [Path::new("/"), Path::new("/a b")]);
        assert_eq!(found.remote, []);
    }

    #[test]
    fn what_may_wait_for_others_is_apart_with_all_that_is_in_it() {
        let list = "24 1 0:22 / / rw - ext4 /dev/sda1 rw\n25 24 0:23 / /home rw - nfs4 server:/home rw\n\
                    26 25 0:24 / /home/scratch rw - xfs /dev/sdb rw\n27 24 0:25 / /homes rw - ext4 /dev/sdc rw\n\
                    28 24 0:26 / /net rw - autofs auto rw\n29 24 0:27 / /mnt rw - fuse.sshfs s: rw\n\
                    30 24 0:28 / /tmp rw - tmpfs tmpfs rw\n31 30 0:29 / /tmp rw - 9p host rw";
        let found = ProgramMounts::parse(list);
        assert_eq!(found.local, [Path::new("/"), Path::new("/homes")]);
        let remote: Vec<_> =
            found.remote.iter().map(|(place, kind)| format!("{} {kind}", place.display())).collect();
        assert_eq!(remote, ["/home nfs4", "/home/scratch nfs4", "/mnt fuse.sshfs", "/tmp 9p"]);
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
