//! What stands between two pieces of work: the client's orders, and what it is told.

use rustix::process::{Pid, getppid};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::dialect::{elements, first};

use super::channel::{Channel, Channels};

/// Between two looks at an order to pause.
const PAUSED: Duration = Duration::from_millis(50);

/// Between two messages to the client, which looks about once a second.
const TOLD: Duration = Duration::from_millis(250);

/// The longest `init_data.xml`, in bytes.
const LONGEST: u64 = 1 << 20;

/// Why the work is left before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It goes on another time: the client said so, or is gone.
    Quit,
    /// It is not wanted any more.
    Abort,
}

/// See the module.
pub struct Gate {
    channels: Option<Channels>,
    client: Option<Pid>,
    /// Processor seconds of former processes of this task.
    before: f64,
    checkpoint: f64,
    fraction: f64,
    /// When the client was told last.
    told: Option<Instant>,
}

impl Gate {
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
        Gate { channels, client: getppid(), before, checkpoint: before, fraction: 0.0, told: None }
    }

    /// Waits while the task is to pause. `fraction` of it is done.
    pub fn pass(&mut self, fraction: f64) -> Result<(), Left> {
        self.fraction = fraction;
        let mut paused = false;
        loop {
            if let Some(order) = self.order() {
                paused = match order {
                    Order::Pause => true,
                    Order::GoOn => false,
                    Order::Leave(left) => return Err(left),
                };
            }
            // A parent that has ended is followed by another: there is no client any more.
            if self.channels.is_some() && getppid() != self.client {
                return Err(Left::Quit);
            }
            // The first time once it has computed.
            if self.told.map_or(fraction > 0.0 || paused, |told| told.elapsed() >= TOLD) {
                self.tell();
            }
            if !paused {
                return Ok(());
            }
            thread::sleep(PAUSED);
        }
    }

    /// What is done up to now would not be lost.
    pub fn noted(&mut self) {
        self.checkpoint = self.cpu();
    }

    /// All is done.
    pub fn done(&mut self) {
        self.fraction = 1.0;
        self.noted();
        self.tell();
    }

    fn cpu(&self) -> f64 {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        self.before + own.tv_sec as f64 + own.tv_nsec as f64 * 1e-9
    }

    fn order(&self) -> Option<Order> {
        let channels = self.channels.as_ref()?;
        // Only there to be taken: who has a client sees its end by its parent.
        let _ = channels.take(Channel::Heartbeat);
        let message = channels.take(Channel::Control).ok()??;
        elements(&message).find_map(|element| match element.name {
            "suspend" => Some(Order::Pause),
            "resume" => Some(Order::GoOn),
            "quit" => Some(Order::Leave(Left::Quit)),
            "abort" => Some(Order::Leave(Left::Abort)),
            _ => None,
        })
    }

    fn tell(&mut self) {
        let (cpu, checkpoint, fraction) = (self.cpu(), self.checkpoint, self.fraction);
        let message = format!(
            "<current_cpu_time>{cpu:e}</current_cpu_time>\n<checkpoint_cpu_time>{checkpoint:e}</checkpoint_cpu_time>\n\
             <fraction_done>{fraction:e}</fraction_done>\n"
        );
        if let Some(channels) = &self.channels {
            // What could not be said now is said the next time.
            let _ = channels.send(Channel::Status, &message);
        }
        self.told = Some(Instant::now());
    }
}

enum Order {
    Pause,
    GoOn,
    Leave(Left),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::channel::make;

    #[test]
    fn what_has_computed_is_told_at_once() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let client = make(folder.path());
        let mut gate = Gate::open(folder.path());
        let told = || client.take(Channel::Status).expect("reads").is_some();
        gate.pass(0.0).expect("passes");
        assert!(!told(), "it has not computed yet");
        gate.pass(0.01).expect("passes");
        assert!(told());
    }
}
