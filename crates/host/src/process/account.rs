//! The unprivileged user that runs what root starts and need not run itself: `nobody`.
//!
//! Sources: credentials(7), capabilities(7), user_namespaces(7).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::marker::PhantomData;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{io, ptr};

use crosstalk_core::Fault;
use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, fstat, openat};
use rustix::process::{fchdir, parent_process_death_signal, set_parent_process_death_signal};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities};

use super::children::end_with_starter;
use crate::errno::check;
use crate::user::is_root;

/// The number of `nobody` and of its group where `/etc/passwd` has none.
const NOBODY: u32 = 65_534;

/// What root needs to become another user and to hand over a folder.
const NEEDED: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::CHOWN);

/// A user and its group, by number. Neither is root's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    user: u32,
    group: u32,
}

/// The right to listen below port 1024, which the calling thread keeps until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct LowPorts(PhantomData<*const ()>);

impl Account {
    /// `nobody`, where this process is root's; `None` where it is another user's. The root of a user
    /// namespace without `nobody` is the user outside that it stands for.
    ///
    /// # Errors
    /// An environment fault where root has no right to become another user.
    pub fn unprivileged() -> Result<Option<Self>, Fault> {
        if !is_root() {
            return Ok(None);
        }
        let nobody = Account::nobody(&fs::read_to_string("/etc/passwd").unwrap_or_default());
        // A kernel without user namespaces has no such files, and all numbers.
        let map = |path| fs::read_to_string(path).unwrap_or_else(|_| format!("0 0 {}", u32::MAX));
        let (users, groups) = (map("/proc/self/uid_map"), map("/proc/self/gid_map"));
        if outside(&users, nobody.user).is_none() || outside(&groups, nobody.group).is_none() {
            return match outside(&users, 0) {
                Some(0) => {
                    Err(Fault::environment("cannot become the user nobody: this user namespace has none")
                        .remedy("start it as another user than root, or in a user namespace that maps 65534"))
                }
                _ => Ok(None),
            };
        }
        let rights = capabilities(None).map_err(|e| refused("read the rights of this process", e))?;
        if !rights.effective.contains(NEEDED) {
            return Err(refused("become the user nobody", "root lacks the right to"));
        }
        Ok(Some(nobody))
    }

    /// The one that a text in the format of passwd(5) has.
    fn nobody(passwd: &str) -> Self {
        let named = passwd.lines().find_map(|line| {
            let mut fields = line.strip_prefix("nobody:")?.split(':').skip(1);
            let mut number = || fields.next()?.parse().ok().filter(|number| *number != 0);
            Some(Account { user: number()?, group: number()? })
        });
        named.unwrap_or(Account { user: NOBODY, group: NOBODY })
    }

    /// The user's number.
    pub fn user(self) -> u32 {
        self.user
    }

    /// Hands over a folder of root's, and what `chosen` names of its entries, each with all that is in it.
    /// What is not root's stays as it is, and so does what also has a name elsewhere: links are not followed.
    ///
    /// # Errors
    /// An environment fault where the kernel refuses.
    pub fn hand_over(self, folder: &File, chosen: impl Fn(&OsStr) -> bool) -> Result<(), Fault> {
        self.take(folder, &chosen).map_err(|e| refused("hand a folder to the user nobody", e))
    }

    fn take(self, folder: impl AsFd, chosen: &dyn Fn(&OsStr) -> bool) -> io::Result<()> {
        let (user, group) = (Some(Uid::from_raw(self.user)), Some(Gid::from_raw(self.group)));
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if [c".", c".."].contains(&name) || !chosen(OsStr::from_bytes(name.to_bytes())) {
                continue;
            }
            // Names the entry itself for good, and opens nothing.
            let one =
                openat(&folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
            let status = fstat(&one)?;
            match FileType::from_raw_mode(status.st_mode) {
                _ if status.st_uid != 0 => {}
                FileType::Directory => {
                    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
                    self.take(openat(&one, c".", flags, Mode::empty())?, &|_| true)?;
                }
                FileType::RegularFile if status.st_nlink == 1 => {
                    chownat(&one, c"", user, group, AtFlags::EMPTY_PATH)?;
                }
                _ => {}
            }
        }
        // Last: until now nobody but root could change what is in it.
        Ok(fchown(&folder, user, group)?)
    }

    /// Has a command run as this user. It starts in its working directory, also where the user could not go.
    /// The kernel kills it when the thread that starts it ends: root may lack the right to find another user's
    /// processes by their environment.
    pub fn run_as_user(self, command: &mut Command) {
        end_with_starter(command);
        // SAFETY: between fork and exec this makes system calls only; it neither allocates nor locks.
        unsafe { command.pre_exec(move || self.assume()) };
    }

    /// Has this process become the user for good, in `folder`.
    ///
    /// # Errors
    /// An environment fault where the kernel refuses. The process must then end: it may be half-way.
    pub fn become_user(self, folder: &File) -> Result<LowPorts, Fault> {
        let enter = || {
            fchdir(folder)?;
            let ports = capabilities(None)?.permitted & CapabilitySet::NET_BIND_SERVICE;
            set_keep_capabilities(true)?;
            self.assume()?;
            keep(ports)
        };
        enter().map(|()| LowPorts(PhantomData)).map_err(|e| refused("become the user nobody", e))
    }

    /// Has this process, with all its threads, become the user, without supplementary groups.
    fn assume(self) -> io::Result<()> {
        let Account { user, group } = self;
        let end = parent_process_death_signal()?;
        // SAFETY: no group is read, as there are none.
        check(unsafe { libc::setgroups(0, ptr::null()) })?;
        // SAFETY: both take numbers only.
        unsafe {
            check(libc::setresgid(group, group, group))?;
            check(libc::setresuid(user, user, user))?;
        }
        // The kernel forgets it with the change of user (prctl(2)).
        Ok(set_parent_process_death_signal(end)?)
    }
}

impl Drop for LowPorts {
    fn drop(&mut self) {
        // A right can always be given up.
        let _ = keep(CapabilitySet::empty());
    }
}

/// Gives up all other rights of the calling thread.
fn keep(rights: CapabilitySet) -> io::Result<()> {
    let sets = CapabilitySets { effective: rights, permitted: rights, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// The number outside a user namespace that `number` stands for, by the namespace's map; `None` where it has
/// none.
fn outside(map: &str, number: u32) -> Option<u32> {
    map.lines().find_map(|line| {
        let mut fields = line.split_whitespace().map_while(|field| field.parse::<u32>().ok());
        let (first, there, count) = (fields.next()?, fields.next()?, fields.next()?);
        let place = number.checked_sub(first).filter(|place| *place < count)?;
        there.checked_add(place)
    })
}

fn refused(step: &str, why: impl ToString) -> Fault {
    Fault::environment(format!("cannot {step}: {}", why.to_string())).remedy(
        "start it as another user than root, or give root's container the rights SETUID, SETGID and CHOWN \
         (docker run --cap-add SETUID --cap-add SETGID --cap-add CHOWN)",
    )
}

#[cfg(test)]
mod tests;
