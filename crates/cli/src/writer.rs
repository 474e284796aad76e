//! A thread that writes texts in order, so that nobody else waits for a slow reader: a terminal that was paused
//! (Ctrl-S), a pager, or a pipe that nobody empties.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The texts that wait to be written.
#[derive(Default)]
struct Queue {
    texts: VecDeque<String>,
    is_writing: bool,
}

/// A thread that writes texts in order, and its queue of at most `capacity` texts.
pub struct Writer {
    shared: Arc<(Mutex<Queue>, Condvar)>,
    capacity: usize,
}

impl Writer {
    /// Starts a thread that calls `write` with each text, in order.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(capacity: usize, write: impl Fn(&str) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new((Mutex::new(Queue::default()), Condvar::new()));
        let of_thread = Arc::clone(&shared);
        let work = move || {
            let (queue, changed) = &*of_thread;
            let mut now = lock(queue);
            loop {
                if let Some(text) = now.texts.pop_front() {
                    now.is_writing = true;
                    drop(now);
                    write(&text);
                    now = lock(queue);
                    now.is_writing = false;
                    changed.notify_all();
                } else {
                    now = changed.wait(now).unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        thread::Builder::new().name("writer".into()).spawn(work)?;
        Ok(Writer { shared, capacity })
    }

    /// Queues a text; `false` if the queue is full.
    pub fn queue(&self, text: String) -> bool {
        self.put_within(self.capacity, text)
    }

    /// Queues a text only if nothing else waits to be written.
    pub fn queue_if_idle(&self, text: String) -> bool {
        self.put_within(1, text)
    }

    fn put_within(&self, capacity: usize, text: String) -> bool {
        let mut now = lock(&self.shared.0);
        let has_room = now.texts.len() + usize::from(now.is_writing) < capacity;
        if has_room {
            now.texts.push_back(text);
            self.shared.1.notify_all();
        }
        has_room
    }

    /// Waits at most this long until the queue is empty. Returns whether it is.
    pub fn wait_until_empty(&self, within: Duration) -> bool {
        let has_texts = |now: &mut Queue| now.is_writing || !now.texts.is_empty();
        let waited = self.shared.1.wait_timeout_while(lock(&self.shared.0), within, has_texts);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const CAPACITY: usize = 64;
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_full_queue_refuses_texts_and_the_reader_gets_the_others_in_order() {
        let (reads, read) = mpsc::channel();
        let (written, texts) = mpsc::channel();
        let writer = Writer::new(CAPACITY, move |text| {
            read.recv().expect("the test goes on");
            written.send(text.to_string()).expect("the test goes on");
        });
        let writer = writer.expect("a thread starts");
        assert!(writer.queue_if_idle("0".into()), "nothing waits");
        assert!(!writer.queue_if_idle("never".into()), "one does");
        for n in 1..CAPACITY {
            assert!(writer.queue(n.to_string()), "{n}");
        }
        assert!(!writer.queue("never".into()));
        assert!(!writer.wait_until_empty(Duration::from_millis(1)));
        (0..CAPACITY).for_each(|_| reads.send(()).expect("it goes on"));
        assert!(writer.wait_until_empty(LONG));
        let all: Vec<String> = texts.try_iter().collect();
        assert_eq!(all, (0..CAPACITY).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}
