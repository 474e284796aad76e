//! What stands between two pieces of work: the client's orders, and what it is told.

use rustix::process::{Pid, getppid};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::markup::{elements, first};

use super::channel::{Channel, Channels};

/// Between two looks at an order to pause.
const PAUSE_POLL: Duration = Duration::from_millis(50);

/// Between two messages to the client, which looks about once a second.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The longest `init_data.xml`, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why the work is left before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It goes on another time: the client said so, or is gone.
    Quit,
    /// It is not wanted any more.
    Abort,
}

/// See the module.
pub struct ClientControl {
    channels: Option<Channels>,
    client: Option<Pid>,
    /// Processor seconds of former processes of this task.
    before: f64,
    checkpoint: f64,
    fraction: f64,
    /// When the client was told last.
    reported: Option<Instant>,
}

impl ClientControl {
    /// That of a slot directory. Without a client all may pass.
    pub fn open(folder: &Path) -> Self {
        let mut data = String::new();
        // Not there without a client; then nothing was before.
        let _ = File::open(folder.join("init_data.xml"))
            .and_then(|file| file.take(LONGEST).read_to_string(&mut data));
        let before = first(&data, "app_init_data")
            .and_then(|data| data.elements().find(|element| element.name == "wu_cpu_time"))
            .map_or(0.0, |element| element.number().max(0.0));
        let channels = Channels::open(folder);
        ClientControl {
            channels,
            client: getppid(),
            before,
            checkpoint: before,
            fraction: 0.0,
            reported: None,
        }
    }

    /// Waits while the task is to pause. `fraction` of it is done.
    pub fn wait_while_paused(&mut self, fraction: f64) -> Result<(), StopReason> {
        self.fraction = fraction;
        let mut paused = false;
        loop {
            if let Some(command) = self.command() {
                paused = match command {
                    Command::Pause => true,
                    Command::Resume => false,
                    Command::Stop(reason) => return Err(reason),
                };
            }
            // A parent that has ended is followed by another: there is no client any more.
            if self.channels.is_some() && getppid() != self.client {
                return Err(StopReason::Quit);
            }
            // The first time once it has computed.
            if self.reported.map_or(fraction > 0.0 || paused, |told| told.elapsed() >= REPORT_INTERVAL) {
                self.report();
            }
            if !paused {
                return Ok(());
            }
            thread::sleep(PAUSE_POLL);
        }
    }

    /// What is done up to now would not be lost.
    pub fn record_checkpoint(&mut self) {
        self.checkpoint = self.cpu();
    }

    /// All is done.
    pub fn done(&mut self) {
        self.fraction = 1.0;
        self.record_checkpoint();
        self.report();
    }

    fn cpu(&self) -> f64 {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        self.before + own.tv_sec as f64 + own.tv_nsec as f64 * 1e-9
    }

    fn command(&self) -> Option<Command> {
        let channels = self.channels.as_ref()?;
        // Only there to be taken: who has a client sees its end by its parent.
        let _ = channels.take(Channel::Heartbeat);
        let message = channels.take(Channel::Control).ok()??;
        elements(&message).find_map(|element| match element.name {
            "suspend" => Some(Command::Pause),
            "resume" => Some(Command::Resume),
            "quit" => Some(Command::Stop(StopReason::Quit)),
            "abort" => Some(Command::Stop(StopReason::Abort)),
            _ => None,
        })
    }

    fn report(&mut self) {
        let (cpu, checkpoint, fraction) = (self.cpu(), self.checkpoint, self.fraction);
        let message = format!(
            "<current_cpu_time>{cpu:e}</current_cpu_time>\n<checkpoint_cpu_time>{checkpoint:e}</checkpoint_cpu_time>\n\
             <fraction_done>{fraction:e}</fraction_done>\n"
        );
        if let Some(channels) = &self.channels {
            // What could not be said now is said the next time.
            let _ = channels.send(Channel::Status, &message);
        }
        self.reported = Some(Instant::now());
    }
}

enum Command {
    Pause,
    Resume,
    Stop(StopReason),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::channel::make;

    #[test]
    fn what_has_computed_is_told_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let client = make(folder.path());
        let mut control = ClientControl::open(folder.path());
        let reported = || client.take(Channel::Status).expect("reads").is_some();
        control.wait_while_paused(0.0).expect("passes");
        assert!(!reported(), "it has not computed yet");
        control.wait_while_paused(0.01).expect("passes");
        assert!(reported());
    }
}
