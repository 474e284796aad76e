//! Writing that holds nobody up: a thread of its own waits for whoever reads, be it a terminal that was told to
//! stop (Ctrl-S), a pager or a pipe that nobody empties.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What waits to be written.
#[derive(Default)]
struct Waiting {
    texts: VecDeque<String>,
    /// Whether one is being written.
    writes: bool,
}

/// The thread's queue.
pub struct Aside {
    shared: Arc<(Mutex<Waiting>, Condvar)>,
    /// So many texts wait for their reader, and no more.
    most: usize,
}

impl Aside {
    /// One that does this with each text, in order, while at most so many wait.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub fn new(most: usize, write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new((Mutex::new(Waiting::default()), Condvar::new()));
        let its = Arc::clone(&shared);
        let work = move || {
            let (waiting, changed) = &*its;
            let mut now = lock(waiting);
            loop {
                if let Some(text) = now.texts.pop_front() {
                    now.writes = true;
                    drop(now);
                    write(&text);
                    now = lock(waiting);
                    now.writes = false;
                    changed.notify_all();
                } else {
                    now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        thread::Builder::new().name("words".into()).spawn(work)?;
        Ok(Aside { shared, most })
    }

    /// Has it written; `false` where too much waits already.
    pub fn put(&self, text: String) -> bool {
        self.put_behind(self.most, text)
    }

    /// Has it written at once, or not at all.
    pub fn put_now(&self, text: String) -> bool {
        self.put_behind(1, text)
    }

    fn put_behind(&self, most: usize, text: String) -> bool {
        let mut now = lock(&self.shared.0);
        let has_room = now.texts.len() + usize::from(now.writes) < most;
        if has_room {
            now.texts.push_back(text);
            self.shared.1.notify_all();
        }
        has_room
    }

    /// Waits until all is written, for so long at most; whether it is.
    pub fn is_done(&self, within: Duration) -> bool {
        let waits = |now: &mut Waiting| now.writes || !now.texts.is_empty();
        let waited = self.shared.1.wait_timeout_while(lock(&self.shared.0), within, waits);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const MOST: usize = 64;
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn who_does_not_read_holds_nobody_up_and_hears_what_there_was_room_for() {
        let (reads, read) = mpsc::channel();
        let (written, gone) = mpsc::channel();
        let aside = Aside::new(MOST, move |text| {
            read.recv().expect("the test goes on");
            written.send(text.to_string()).expect("the test goes on");
        });
        let aside = aside.expect("a thread can be had");
        assert!(aside.put_now("0".into()), "nothing waits");
        assert!(!aside.put_now("never".into()), "one does");
        for n in 1..MOST {
            assert!(aside.put(n.to_string()), "{n}");
        }
        assert!(!aside.put("never".into()));
        assert!(!aside.is_done(Duration::from_millis(1)));
        (0..MOST).for_each(|_| reads.send(()).expect("it goes on"));
        assert!(aside.is_done(LONG));
        let all: Vec<String> = gone.try_iter().collect();
        assert_eq!(all, (0..MOST).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}
