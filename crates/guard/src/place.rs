//! Where foreground work runs, so that a probe is taken there.
//!
//! The kernel wakes the guard up where background work alone runs, since that yields at once. A probe there
//! would take background work's place: on two processors it would meet foreground work only, and see nothing of
//! what background work does. In foreground work's place it meets what foreground work meets.

use std::path::Path;
use std::time::{Duration, Instant};

use crosstalk_host::cpu::{PinnedThread, restrict};

use super::steady::Steady;

/// So many threads are kept: one that sleeps does not say where the others run.
const KEPT: usize = 4;

/// The threads of foreground work that run most.
#[derive(Debug, Default)]
pub(super) struct Place {
    threads: Vec<Steady>,
    /// The guard could not go there.
    barred: bool,
    /// What was found last.
    before: Option<usize>,
}

impl Place {
    /// Of these threads' folders, those that run most first.
    pub(super) fn of<'a>(folders: impl Iterator<Item = &'a Path>) -> Self {
        let threads = folders.take(KEPT).filter_map(|folder| Steady::open(&folder.join("stat")));
        Place { threads: threads.collect(), barred: false, before: None }
    }

    /// Whether it is known, and was open to the guard as far as that was tried.
    pub(super) fn is_known(&self) -> bool {
        !self.threads.is_empty() && !self.barred
    }

    /// The guard could not go there.
    pub(super) fn bar(&mut self) {
        self.barred = true;
    }

    /// The processor of the first of them that runs now, the same as before if there is one of them, or else where
    /// the first ran last. Those that have ended are forgotten.
    pub(super) fn processor(&mut self) -> Option<usize> {
        let (mut runs, mut ran) = (Vec::new(), None);
        self.threads.retain_mut(|thread| {
            let found = thread.parsed(state);
            runs.extend(found.filter(|(runs, _)| *runs).map(|(_, processor)| processor));
            ran = ran.or(found.map(|(_, processor)| processor));
            found.is_some()
        });
        self.barred = ran.is_none();
        let same = self.before.filter(|before| runs.contains(before));
        self.before = same.or(runs.first().copied()).or(ran);
        self.before
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

/// What `act` says on that processor, of `all` on which the guard may run, and for how long that was; then it goes
/// elsewhere, since what it does next would keep foreground work from its place. `None` where it cannot go there.
pub(super) fn there<T>(processor: usize, all: &[usize], act: impl FnOnce() -> T) -> Option<(T, Duration)> {
    let pinned =
        Some(processor).filter(|one| all.contains(one)).and_then(|one| PinnedThread::begin(one).ok())?;
    let came = Instant::now();
    let done = act();
    let others: Vec<usize> = all.iter().copied().filter(|one| *one != processor).collect();
    if !others.is_empty() {
        // Where that is refused it goes when it sleeps.
        restrict(&others).ok();
    }
    let time = came.elapsed();
    drop(pinned);
    Some((done, time))
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
        let also = thread("4", &stat("R", 6));
        let mut moves = Place::of([also.as_path(), runs.as_path()].into_iter());
        assert_eq!(moves.processor(), Some(6));
        thread("4", &stat("R", 1));
        thread("2", &stat("R", 6));
        assert_eq!(moves.processor(), Some(6), "still one of them");
        thread("2", &stat("R", 1));
        assert_eq!(moves.processor(), Some(1));
        let mut some = Place::of([ended.as_path(), runs.as_path()].into_iter());
        assert_eq!((some.processor(), some.threads.len()), (Some(1), 1));
        assert_eq!(place(&[ended, folder.path().join("none")]), None);
        assert!(!Place::default().is_known() && some.is_known());
        some.bar();
        assert!(!some.is_known(), "it is closed");
    }

    #[test]
    fn this_thread_goes_there_and_back() {
        let all = allowed();
        for processor in &all {
            assert_eq!(there(*processor, &all, allowed).map(|(done, _)| done), Some(vec![*processor]));
            assert_eq!(allowed(), all);
        }
        assert_eq!(there(0, &[], || ()), None);
    }

    #[test]
    fn where_a_thread_is_the_kernel_says() {
        let all = allowed();
        let mut place = Place::of([Path::new("/proc/thread-self")].into_iter());
        for processor in &all {
            let _pinned = PinnedThread::begin(*processor).expect("is allowed");
            assert_eq!(place.processor(), Some(*processor));
        }
    }
}
