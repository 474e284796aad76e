//! Where starts of programs come from: fanotify, or process events, the fallback.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use crosstalk_core::Fault;
use crosstalk_host::mounts::{MountChanges, with_programs};
use crosstalk_host::starts::{HeldStarts, StartEvents};

use super::message::Mechanism;

/// Where starts come from.
#[derive(Debug)]
pub enum Source {
    /// Programs wait.
    Held(HeldStarts, MountChanges),
    /// Programs run already.
    Events(StartEvents),
}

impl Source {
    /// The mechanism that is chosen, or the first that this host has; then why it is not fanotify.
    ///
    /// # Errors
    /// If this user or this kernel has none.
    pub fn open(chosen: Option<Mechanism>) -> Result<(Source, Option<String>), Fault> {
        let held = || Ok(Source::Held(HeldStarts::open()?, MountChanges::open()?));
        let events = || StartEvents::open().map(Source::Events);
        let refused = |name: &str, e: &io::Error| {
            Fault::environment(format!("cannot watch by {name}: {e}"))
                .remedy("run it as root, on the host and not in a container")
        };
        match chosen {
            Some(Mechanism::Fanotify) => {
                held().map(|source| (source, None)).map_err(|e| refused("fanotify", &e))
            }
            Some(Mechanism::ProcessEvents) => {
                events().map(|source| (source, None)).map_err(|e| refused("process events", &e))
            }
            None => match held() {
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
            Source::Held(..) => Mechanism::Fanotify,
            Source::Events(_) => Mechanism::ProcessEvents,
        }
    }

    /// Marks all mounts from which programs may be executed. Returns how many. Marking one again changes nothing.
    pub fn mark(&self) -> usize {
        match self {
            Source::Held(starts, _) => {
                let mounts: Vec<PathBuf> = with_programs().unwrap_or_default();
                mounts.iter().filter(|path| starts.mark(path).is_ok()).count()
            }
            Source::Events(_) => 0,
        }
    }

    /// Marks mounts that have come since.
    pub fn mark_new(&self) {
        if let Source::Held(_, changes) = self
            && changes.is_new()
        {
            self.mark();
        }
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Source::Held(starts, _) => starts.as_fd(),
            Source::Events(events) => events.as_fd(),
        }
    }
}
