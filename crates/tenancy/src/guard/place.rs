//! Where own work runs, so that a probe is taken there.
//!
//! The kernel wakes the guard up where external work alone runs, since that gives way at once. A probe there
//! would stand in external work's place: on two processors it would meet own work only, and see nothing of
//! what external work does. In own work's place it meets what own work meets.

use std::path::Path;
use std::time::{Duration, Instant};

use crosstalk_host::cpu::{Pinned, restrict};

use super::steady::Steady;

/// So many threads are kept: one that sleeps does not say where the others run.
const KEPT: usize = 4;

/// The threads of own work that run most.
#[derive(Debug, Default)]
pub(super) struct Place {
    threads: Vec<Steady>,
    /// Nobody could go there.
    barred: bool,
}

impl Place {
    /// Of these threads' folders, those that run most first.
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Path>) -> Self {
        let threads = folders.take(KEPT).filter_map(|folder| Steady::open(&folder.join("stat")));
        Place { threads: threads.collect(), barred: false }
    }

    /// Whether it is known, and was open to the guard as far as that was tried.
    pub(super) fn is_known(&self) -> bool {
        !self.threads.is_empty() && !self.barred
    }

    /// What `act` says there, of `all` processors on which the guard may run; then it goes elsewhere, since what
    /// it does next would keep own work from its place. And for how long it was there. `None` where it cannot go.
    pub(super) fn with<T>(&mut self, all: &[usize], act: impl FnOnce() -> T) -> Option<(T, Duration)> {
        let pinned = self.processor().filter(|one| all.contains(one)).and_then(|one| Pinned::begin(one).ok());
        self.barred = pinned.is_none();
        let pinned = pinned?;
        let came = Instant::now();
        let told = act();
        let others: Vec<usize> = all.iter().copied().filter(|one| *one != pinned.cpu()).collect();
        if !others.is_empty() {
            // Where that is refused it goes when it sleeps.
            restrict(&others).ok();
        }
        let time = came.elapsed();
        drop(pinned);
        Some((told, time))
    }

    /// The processor of the first of them that runs now, or else where the first ran last. Those that have ended
    /// are forgotten.
    fn processor(&mut self) -> Option<usize> {
        let mut last = None;
        let mut running = None;
        self.threads.retain_mut(|thread| {
            if running.is_some() {
                return true;
            }
            let told = thread.told(state);
            if let Some((runs, processor)) = told {
                last = last.or(Some(processor));
                running = runs.then_some(processor);
            }
            told.is_some()
        });
        running.or(last)
    }
}

/// Whether a thread runs or wants to, and on which processor: the fields 3 and 39 of proc_pid_stat(5). `None`
/// where it has ended.
fn state(text: &str) -> Option<(bool, usize)> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let processor = fields.nth(39 - 4)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some((state == "R", processor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_host::cpu::allowed;
    use std::fs;
    use std::path::PathBuf;

    /// A thread's `stat`, whose program has a name that is hard to read.
    fn stat(state: &str, processor: usize) -> String {
        let zeros = vec!["0"; 39 - 4].join(" ");
        format!("7 (a) R 1 2) {state} {zeros} {processor} 0 0 0\n")
    }

    #[test]
    fn it_is_where_the_first_runs_that_runs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let thread = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(&path).expect("makes");
            fs::write(path.join("stat"), text).expect("writes");
            path
        };
        let place = |threads: &[PathBuf]| Place::of(threads.iter().map(PathBuf::as_path)).processor();
        let (sleeps, runs) = (thread("1", &stat("S", 4)), thread("2", &stat("R", 1)));
        assert_eq!(place(&[sleeps.clone(), runs.clone()]), Some(1));
        assert_eq!(place(std::slice::from_ref(&sleeps)), Some(4), "where it ran last");
        let ended = thread("3", &stat("Z", 5));
        let mut some = Place::of([ended.as_path(), runs.as_path()].into_iter());
        assert_eq!((some.processor(), some.threads.len()), (Some(1), 1));
        assert_eq!(place(&[ended, folder.path().join("none")]), None);
        assert!(!Place::default().is_known());
    }

    #[test]
    fn this_thread_goes_there_and_back() {
        let all = allowed();
        for processor in &all {
            let text = stat("R", *processor);
            let folder = tempfile::tempdir().expect("a temporary folder");
            fs::write(folder.path().join("stat"), text).expect("writes");
            let mut place = Place::of([folder.path()].into_iter());
            assert_eq!(place.with(&all, allowed).map(|(there, _)| there), Some(vec![*processor]));
            assert_eq!((allowed(), place.is_known()), (all.clone(), true));
            assert_eq!(place.with(&[], || ()), None);
            assert!(!place.is_known(), "it is closed");
        }
    }

    #[test]
    fn where_a_thread_is_the_kernel_says() {
        let all = allowed();
        let mut place = Place::of([Path::new("/proc/thread-self")].into_iter());
        for processor in &all {
            let _pinned = Pinned::begin(*processor).expect("is allowed");
            assert_eq!(place.processor(), Some(*processor));
        }
    }
}
