//! Standard output and standard error. Writing never panics and ends nothing: what could not be written is
//! reported at the end, as a fault.

use std::io::{Error, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_host::streams::output_is_closed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::writer::Writer;

/// Standard output or standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Output,
    Error,
}

/// A thread for each stream, since one may be read and the other not.
struct Writers {
    output: Writer,
    error: Writer,
    /// Set: wait for readers at the end until this flag is set. Unset: wait for [`LAST_WAIT`] only.
    interrupted: Option<Arc<AtomicBool>>,
}

impl Writers {
    fn of(&self, stream: Stream) -> &Writer {
        match stream {
            Stream::Output => &self.output,
            Stream::Error => &self.error,
        }
    }

    /// Waits until all of a stream is written, as long as it may. Returns whether it is.
    fn is_written(&self, stream: Stream) -> bool {
        let writer = self.of(stream);
        if let Some(interrupted) = &self.interrupted {
            while !interrupted.load(Ordering::SeqCst) {
                if writer.wait_until_empty(POLL_INTERVAL) {
                    return true;
                }
            }
        }
        writer.wait_until_empty(LAST_WAIT)
    }
}

static WRITERS: OnceLock<Writers> = OnceLock::new();
/// The first fault of writing.
static LOST: OnceLock<Fault> = OnceLock::new();
/// Whether each stream was a terminal at first: a terminal that was closed is none any more.
static TERMINALS: LazyLock<[bool; 2]> =
    LazyLock::new(|| [std::io::stdout().is_terminal(), std::io::stderr().is_terminal()]);
/// How long the program waits at its end for a reader.
const LAST_WAIT: Duration = Duration::from_secs(1);
/// How often it asks meanwhile whether it was interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// From now on nothing waits for readers. What they do not read in time is lost.
///
/// # Errors
/// If no thread can be started.
pub fn never_wait_for_readers() -> Result<(), Fault> {
    start_writers(64, None)
}

/// From now on the program waits for readers only at its end, until it is interrupted. Measuring is not delayed.
///
/// # Errors
/// If no thread can be started.
pub fn wait_for_readers_at_end(interrupted: &Arc<AtomicBool>) -> Result<(), Fault> {
    start_writers(1 << 16, Some(Arc::clone(interrupted)))
}

fn start_writers(capacity: usize, interrupted: Option<Arc<AtomicBool>>) -> Result<(), Fault> {
    LazyLock::force(&TERMINALS);
    let failed = |e| Fault::environment(format!("cannot start a thread: {e}"));
    let writers = Writers {
        output: Writer::new(capacity, |text| write(Stream::Output, text)).map_err(failed)?,
        error: Writer::new(capacity, |text| write(Stream::Error, text)).map_err(failed)?,
        interrupted,
    };
    // Writers that are there already serve as well.
    let _ = WRITERS.set(writers);
    Ok(())
}

/// Writes a text to a stream, or queues it for the stream's thread.
pub fn write_text(stream: Stream, text: String) {
    match WRITERS.get() {
        None => write(stream, &text),
        Some(writers) if writers.of(stream).queue(text) => {}
        Some(_) => reader_is_late(stream),
    }
}

/// Like [`write_text`], but drops the text if others still wait to be written. Returns whether it is written.
pub fn write_text_if_idle(stream: Stream, text: String) -> bool {
    let Some(writers) = WRITERS.get() else {
        write(stream, &text);
        return true;
    };
    writers.of(stream).queue_if_idle(text)
}

/// Whether nobody reads the output any more (`| head`). What has no end of its own asks for it.
pub fn output_has_no_reader() -> bool {
    let output = std::io::stdout();
    let mut polled = [PollFd::new(&output, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// Writes a text. A reader that has gone (`| head`, a terminal that was closed) is no fault. A full disk is one, but
/// ends no run.
fn write(stream: Stream, text: &str) {
    if stream == Stream::Output && output_is_closed() {
        return note_loss(stream, "it is closed", "open it, or send it to a file or to /dev/null");
    }
    let was_terminal = TERMINALS[stream as usize];
    let written = match stream {
        Stream::Output => write_all(&mut std::io::stdout().lock(), text),
        Stream::Error => write_all(&mut std::io::stderr().lock(), text),
    };
    let has_gone = |e: &Error| e.kind() == ErrorKind::BrokenPipe || was_terminal;
    if let Some(error) = written.err().filter(|e| !has_gone(e)) {
        note_loss(
            stream,
            &error.to_string(),
            "free some room where it is sent, and repeat the command (crosstalk report for a run)",
        );
    }
}

/// Writes all of a text, also if another program has made the stream non-blocking.
fn write_all<W: Write + AsFd>(stream: &mut W, text: &str) -> std::io::Result<()> {
    let mut rest = text.as_bytes();
    loop {
        let step = if rest.is_empty() { stream.flush().map(|()| 0) } else { stream.write(rest) };
        match step {
            Ok(0) if rest.is_empty() => return Ok(()),
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                // If this fails, the next write says why.
                let _ = poll(&mut [PollFd::new(stream, PollFlags::OUT)], None);
            }
            Err(e) => return Err(e),
        }
    }
}

fn reader_is_late(stream: Stream) {
    note_loss(stream, "its reader did not take it in time", "read it as it comes, or send it to a file");
}

fn note_loss(stream: Stream, why: &str, remedy: &str) {
    let place = match stream {
        Stream::Output => "standard output",
        Stream::Error => "standard error",
    };
    let fault = Fault::environment(format!("not everything could be written: {why}"));
    let _ = LOST.set(fault.at(place).remedy(remedy));
}

/// Waits for readers, and returns the fault if something has not reached them.
pub fn unread_output_fault() -> Option<Fault> {
    if let Some(writers) = WRITERS.get() {
        let streams = [Stream::Output, Stream::Error];
        streams.into_iter().filter(|stream| !writers.is_written(*stream)).for_each(reader_is_late);
    }
    LOST.get().cloned()
}

/// Waits for readers, as long as it may.
pub fn wait_for_readers() {
    if let Some(writers) = WRITERS.get() {
        writers.is_written(Stream::Error);
        writers.is_written(Stream::Output);
    }
}
