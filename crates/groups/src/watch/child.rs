//! The watcher's process, as its supervisor has it.

use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crosstalk_core::Fault;
use crosstalk_host::Launcher;
use crosstalk_host::process::{cannot, end_with_starter, wait_readable};

use super::message::{Answer, Message, Settings};

/// The hidden verb that runs [`watch`](super::watch).
pub const PLACE: &str = "place";
/// The longest moment.
const TICK: Duration = Duration::from_millis(200);
/// How long a watcher may take to end.
const END: Duration = Duration::from_secs(2);

/// The watcher's process.
#[derive(Debug)]
pub struct Watcher {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Bytes of a line that has not ended.
    part: Vec<u8>,
    has_ended: bool,
    /// Whether it watches, or has.
    pub is_ready: bool,
    /// Why it cannot watch.
    pub fault: Option<Fault>,
}

impl Watcher {
    /// Starts it.
    ///
    /// # Errors
    /// If no process can be started.
    pub fn start(launcher: &Launcher, settings: &Settings) -> Result<Self, Fault> {
        let failed = |e: &std::io::Error| cannot("start the watcher", e);
        let mut command = launcher.command(PLACE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        end_with_starter(&mut command);
        let mut child = command.spawn().map_err(|e| failed(&e))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let output = output.ok_or_else(|| failed(&ErrorKind::BrokenPipe.into()))?;
        let mut watcher = Watcher {
            child,
            input,
            output,
            part: Vec::new(),
            has_ended: false,
            is_ready: false,
            fault: None,
        };
        watcher.write(settings);
        Ok(watcher)
    }

    /// Answers that a group was made, or cannot be.
    pub fn answer(&mut self, answer: &Answer) {
        self.write(answer);
    }

    /// Writes a line. If the watcher has ended, it is noticed when it is read from.
    fn write(&mut self, line: &impl serde::Serialize) {
        if let (Some(input), Ok(mut text)) = (&mut self.input, serde_json::to_vec(line)) {
            text.push(b'\n');
            let _ = input.write_all(&text);
        }
    }

    /// Whether it runs.
    pub fn is_there(&self) -> bool {
        !self.has_ended
    }

    /// The messages that come within a moment.
    ///
    /// # Errors
    /// If they cannot be waited for.
    pub fn read(&mut self) -> Result<Vec<Message>, Fault> {
        let ready =
            wait_readable(&[&self.output], Some(TICK)).map_err(|e| cannot("read from the watcher", &e))?;
        if !ready[0] {
            return Ok(Vec::new());
        }
        let mut bytes = [0; 1 << 14];
        match self.output.read(&mut bytes) {
            Ok(0) => self.has_ended = true,
            Ok(length) => self.part.extend_from_slice(&bytes[..length]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => self.has_ended = true,
        }
        Ok(self.lines())
    }

    fn lines(&mut self) -> Vec<Message> {
        let Some(end) = self.part.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let lines: Vec<u8> = self.part.drain(..=end).collect();
        let mut messages = Vec::new();
        for line in lines.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Message::Failed(fault)) => self.fault = Some(fault),
                Ok(message) => messages.push(message),
                Err(_) => {}
            }
        }
        messages
    }

    /// Ends it. Returns its last messages.
    pub fn end(&mut self) -> Vec<Message> {
        self.input.take();
        let (mut messages, until) = (Vec::new(), Instant::now() + END);
        while self.is_there() && Instant::now() < until {
            messages.extend(self.read().unwrap_or_default());
        }
        // It may be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
        messages
    }
}
