//! The last of what a program wrote. The agent's own standard output is the
//! channel to the runner, so a program must not write there.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The number of bytes that a [`Tail`] keeps.
pub const TAIL_BYTES: usize = 64 << 10;

/// Lines of it that a fault quotes, and bytes at most.
const QUOTED_LINES: usize = 10;
const QUOTED_BYTES: usize = 2000;

/// How long to wait for the end of what was written. A process that outlives
/// the program and still holds the pipe must not hold up the attempt.
const LINGER: Duration = Duration::from_millis(500);

/// The last bytes of a stream, collected by a thread of its own.
pub struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    /// Collects from `stream` until its end.
    pub fn collect(mut stream: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::with_capacity(TAIL_BYTES)));
        let shared = Arc::clone(&kept);
        let reader = thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                let mut kept = lock(&shared);
                kept.extend(&chunk[..n]);
                let surplus = kept.len().saturating_sub(TAIL_BYTES);
                kept.drain(..surplus);
            }
        });
        Tail { kept, reader }
    }

    /// All that is kept. Waits a little for the end of what was written.
    pub fn bytes(&self) -> Vec<u8> {
        let deadline = Instant::now() + LINGER;
        while !self.reader.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        lock(&self.kept).iter().copied().collect()
    }

    /// The last lines, for people; empty where nothing was written.
    pub fn last_lines(&self) -> String {
        let kept = self.bytes();
        quote(&String::from_utf8_lossy(&kept[kept.len().saturating_sub(QUOTED_BYTES)..]))
    }
}

fn lock(kept: &Mutex<VecDeque<u8>>) -> MutexGuard<'_, VecDeque<u8>> {
    // The bytes are sound, even if the thread that wrote them has panicked.
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last lines of a text, without control characters.
fn quote(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
    last.join("\n").chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_quoted() {
        let text: String = (0..1000).map(|n| format!("line {n}\n\n")).collect();
        let quoted = Tail::collect(std::io::Cursor::new(text)).last_lines();
        assert!(quoted.starts_with("line 990\n") && quoted.ends_with("line 999"), "{quoted}");
    }

    #[test]
    fn an_endless_line_stays_small_and_colours_are_left_out() {
        let tail = Tail::collect(std::io::Cursor::new(vec![b'x'; 3 * TAIL_BYTES]));
        assert_eq!(tail.last_lines().len(), QUOTED_BYTES);
        assert_eq!(lock(&tail.kept).len(), TAIL_BYTES);
        assert_eq!(quote("\u{1b}[31mred\u{1b}[0m"), "[31mred[0m");
    }

    #[test]
    fn a_process_that_keeps_the_pipe_open_does_not_block_the_reader() {
        struct Silent(std::sync::mpsc::Receiver<()>);
        impl Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                // Until the test is over.
                let _ = self.0.recv();
                Ok(0)
            }
        }
        let (over, silent) = std::sync::mpsc::channel();
        assert_eq!(Tail::collect(Silent(silent)).last_lines(), "");
        drop(over);
    }
}
