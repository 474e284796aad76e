//! The user that a group is shared with: it may put programs into the group, and nothing else.
//!
//! Sources: passwd(5); `Documentation/admin-guide/cgroup-v2.rst` (delegation).

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use crosstalk_cgroup::group::Group;
use crosstalk_core::name::unknown;
use crosstalk_core::{Fault, quoted};
use crosstalk_host::kernel;

/// "No user" of chown(2), which changes nothing then.
const NOBODY: u32 = u32::MAX;
/// The files of a group that take processes: v1's and v2's.
const TAKES: [&str; 3] = ["cgroup.procs", "cgroup.threads", "tasks"];

/// A user of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The name, or the number of a user without one.
    pub name: String,
    /// The number.
    pub id: u32,
}

impl User {
    /// The user of this name or number.
    ///
    /// # Errors
    /// A usage fault that names the nearest user if there is none.
    pub fn find(name: &str) -> Result<User, Fault> {
        Self::one_of(&Self::all(), name)
    }

    /// All users in `/etc/passwd`. Other sources of users may have more, and asking them may take long.
    pub fn all() -> Vec<User> {
        Self::among(&kernel::text("/etc/passwd").unwrap_or_default())
    }

    fn among(passwd: &str) -> Vec<User> {
        let known = |line: &str| -> Option<User> {
            let mut fields = line.split(':');
            Some(User { name: fields.next()?.into(), id: fields.nth(1)?.parse().ok()? })
        };
        passwd.lines().filter_map(known).collect()
    }

    /// The one of this name or number; a number need not be among them.
    ///
    /// # Errors
    /// As [`User::find`].
    pub fn one_of(users: &[User], name: &str) -> Result<User, Fault> {
        if let Some(user) = users.iter().find(|user| user.name == name && !name.is_empty()) {
            return Ok(user.clone());
        }
        if let Some(id) = name.parse().ok().filter(|id| *id != NOBODY) {
            let named = users.iter().find(|user| user.id == id).cloned();
            return Ok(named.unwrap_or(User { name: name.into(), id }));
        }
        if name.is_empty() {
            return Err(Fault::usage(format!("expected a user's name or number, found `{}`", quoted(name))));
        }
        let fault = unknown("user", name, users.iter().map(|user| user.name.as_str()));
        Err(match fault.remedy.as_deref() {
            Some(near) if near.starts_with("did you mean") => fault,
            // All users of a host are a long list.
            _ => fault.remedy("see those of this host: getent passwd; a number serves, too"),
        })
    }

    /// What a user cannot do in a group that is shared, in a line: v2 lets a user move only what is in a group that the
    /// user may write to, too.
    pub fn shortfall(&self, group: &Group) -> Option<String> {
        let User { name, .. } = self;
        group.dir("cpu").is_none().then(|| {
            format!(
                "in v2 {name} can start programs in it only from within it: let root begin with \
                 `crosstalk exec --group NAME -- runuser -u {name} -- bash`"
            )
        })
    }

    /// The user that made a group: its directories' owner.
    pub fn maker(group: &Group) -> Option<User> {
        group.paths().first().and_then(|dir| Self::owner(dir))
    }

    /// The user that may put programs into a group: its maker, or whom it is shared with.
    pub fn admitted(group: &Group) -> Option<User> {
        let files = group.paths().into_iter().flat_map(|dir| TAKES.map(|file| dir.join(file)));
        files.filter_map(|path| Self::owner(&path)).next()
    }

    fn owner(path: &Path) -> Option<User> {
        let id = fs::metadata(path).ok()?.uid();
        Some(User { name: id.to_string(), id })
    }

    /// Lets the user put programs into the group.
    ///
    /// # Errors
    /// If this user may not give files away.
    pub fn admit(&self, group: &Group) -> Result<(), Fault> {
        let files = group.paths().into_iter().flat_map(|dir| TAKES.map(|file| dir.join(file)));
        files.filter(|path| path.exists()).try_for_each(|path| {
            chown(&path, Some(self.id), None).map_err(|e| {
                Fault::environment(format!("cannot share it with user {}: {e}", self.name))
                    .at(path.display().to_string())
                    .remedy("run it as root")
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\nbroken\n7:x:12:12::/:\n";

    #[test]
    fn a_user_is_found_by_name_or_number() {
        let alice = User { name: "alice".into(), id: 1000 };
        assert_eq!(User::one_of(&User::among(PASSWD), "alice"), Ok(alice.clone()));
        assert_eq!(User::one_of(&User::among(PASSWD), "1000"), Ok(alice));
        assert_eq!(User::one_of(&User::among(PASSWD), "4711"), Ok(User { name: "4711".into(), id: 4711 }));
        assert_eq!(User::one_of(&User::among(PASSWD), "7").map(|user| user.id), Ok(12), "a name comes first");
    }

    #[test]
    fn an_unknown_user_is_answered_with_the_nearest() {
        let remedy = |name: &str| User::one_of(&User::among(PASSWD), name).expect_err("is unknown").remedy;
        assert_eq!(remedy("alise").as_deref(), Some("did you mean `alice`?"));
        assert!(remedy("somebody-else").is_some_and(|said| said.contains("getent passwd")));
        for odd in ["", "a\u{1b}[2J", "a b/..", "-1", "🦀", "4294967295"] {
            let fault = User::one_of(&User::among(PASSWD), odd).expect_err("is unknown");
            assert!(!fault.message.contains('\u{1b}'), "{fault}");
        }
    }
}
