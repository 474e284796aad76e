//! Where starts of programs come from: fanotify, or process events, the fallback.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_host::mounts::{MountChanges, ProgramMounts};
use crosstalk_host::starts::{PendingStarts, ProcessEvents};

use super::message::Mechanism;

/// Where starts come from.
#[derive(Debug)]
pub enum Source {
    /// Programs wait.
    Fanotify(PendingStarts, MountChanges),
    /// Programs run already.
    ProcessEvents(ProcessEvents),
}

/// Mounts whose programs are seen, and those whose programs are not.
#[derive(Debug, Default)]
pub struct MarkedMounts {
    /// How many are seen.
    pub mounts: usize,
    /// A line for each of the others, with the reason.
    pub unseen: Vec<String>,
}

impl Source {
    /// The mechanism that is chosen, or the first that this host has; then why it is not fanotify.
    ///
    /// # Errors
    /// If this user or this kernel has none.
    pub fn open(chosen: Option<Mechanism>) -> Result<(Source, Option<String>), Fault> {
        let events = || ProcessEvents::open().map(Source::ProcessEvents);
        let refused = |name: &str, e: &io::Error| {
            Fault::environment(format!("cannot watch by {name}: {e}"))
                .remedy("run it as root, on the host and not in a container")
        };
        match chosen {
            Some(Mechanism::Fanotify) => {
                fanotify().map(|source| (source, None)).map_err(|e| refused("fanotify", &e))
            }
            Some(Mechanism::ProcessEvents) => {
                events().map(|source| (source, None)).map_err(|e| refused("process events", &e))
            }
            None => match fanotify() {
                Ok(source) => Ok((source, None)),
                Err(why) => events()
                    .map(|source| (source, Some(format!("fanotify: {why}"))))
                    .map_err(|e| refused("process events", &e)),
            },
        }
    }

    /// The mechanism.
    pub fn mechanism(&self) -> Mechanism {
        match self {
            Source::Fanotify(..) => Mechanism::Fanotify,
            Source::ProcessEvents(_) => Mechanism::ProcessEvents,
        }
    }

    /// Whether reading waits for a start.
    pub fn waits(&self) -> bool {
        matches!(self, Source::Fanotify(..))
    }

    /// Marks all mounts of this machine from which programs may be executed. Marking one again changes nothing. A file
    /// of a server would be read before its program continues, and everybody would wait for the server.
    pub fn mark(&self) -> MarkedMounts {
        let Source::Fanotify(starts, _) = self else { return MarkedMounts::default() };
        let ProgramMounts { local, remote } = ProgramMounts::read().unwrap_or_default();
        let mut marked = MarkedMounts::default();
        let unseen = |path: &Path, why: &str| {
            format!("programs on {} ({why}) are found when they run already, by a search", path.display())
        };
        marked.unseen.extend(remote.iter().map(|(path, kind)| unseen(path, kind)));
        for path in local {
            match starts.mark(&path) {
                Ok(()) => marked.mounts += 1,
                // It has gone meanwhile, or is not to be reached.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => marked.unseen.push(unseen(&path, &e.to_string())),
            }
        }
        marked
    }

    /// Marks mounts that have come since. Returns what is not seen.
    pub fn mark_new(&self) -> Vec<String> {
        match self {
            Source::Fanotify(_, changes) if changes.is_new() => self.mark().unseen,
            _ => Vec::new(),
        }
    }
}

/// Permission events, if the kernel has them and lets `/` be marked.
fn fanotify() -> io::Result<Source> {
    let starts = PendingStarts::open()?;
    let root = Path::new("/");
    if let Some((_, kind)) = ProgramMounts::read()?.remote.iter().find(|(path, _)| path == root) {
        return Err(io::Error::other(format!("/ is a file system of a server or a process ({kind})")));
    }
    starts.mark(root)?;
    Ok(Source::Fanotify(starts, MountChanges::open()?))
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Source::Fanotify(starts, _) => starts.as_fd(),
            Source::ProcessEvents(events) => events.as_fd(),
        }
    }
}
