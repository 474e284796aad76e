//! The client's control of a task: it pauses, resumes and ends it, and reads its progress.

use rustix::process::{Pid, getppid};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::markup::{elements, first};

use super::channel::{Channel, Channels};

/// How often a paused task reads the client's commands.
const PAUSE_POLL: Duration = Duration::from_millis(50);

/// The interval between two reports to the client, which reads them about once a second.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The longest `init_data.xml`, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why a task stops before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It continues later: the client said so, or has ended.
    Quit,
    /// It was cancelled.
    Abort,
}

/// How a running task obeys the client: pause, resume, stop.
pub struct ClientControl {
    channels: Option<Channels>,
    client: Option<Pid>,
    /// CPU time of former processes of this task, in seconds.
    before: f64,
    checkpoint: f64,
    fraction: f64,
    /// When the client got the last report.
    reported: Option<Instant>,
}

impl ClientControl {
    /// Opens the control of the task in a slot directory. Without a client nothing is ever
    /// paused.
    pub fn open(folder: &Path) -> Self {
        let mut data = String::new();
        // The file is missing without a client; then there was no former process.
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

    /// Waits while the task is paused, and reports that `fraction` of it is done.
    ///
    /// # Errors
    /// The reason where the task is to stop.
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
            // A new parent means that the client has ended.
            if self.channels.is_some() && getppid() != self.client {
                return Err(StopReason::Quit);
            }
            // The first report is made once it has computed.
            if self.reported.map_or(fraction > 0.0 || paused, |last| last.elapsed() >= REPORT_INTERVAL) {
                self.report();
            }
            if !paused {
                return Ok(());
            }
            thread::sleep(PAUSE_POLL);
        }
    }

    /// Notes that all work so far is in a checkpoint.
    pub fn record_checkpoint(&mut self) {
        self.checkpoint = self.cpu();
    }

    /// Reports that all work is done.
    pub fn report_done(&mut self) {
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
        // Read only to clear it: a task notices its client's end by its parent.
        let _ = channels.take_message(Channel::Heartbeat);
        let message = channels.take_message(Channel::Control).ok()??;
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
            // A report that cannot be sent now is made the next time.
            let _ = channels.send_message(Channel::Status, &message);
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
    use crate::app::channel::create_channels;

    #[test]
    fn a_task_that_has_computed_reports_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let client = create_channels(folder.path());
        let mut control = ClientControl::open(folder.path());
        let reported = || client.take_message(Channel::Status).expect("reads").is_some();
        control.wait_while_paused(0.0).expect("passes");
        assert!(!reported(), "it has not computed yet");
        control.wait_while_paused(0.01).expect("passes");
        assert!(reported());
    }
}
