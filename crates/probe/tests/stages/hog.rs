//! Waiting for a processor that other threads use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_host::cpu;
use crosstalk_observe::stages::Direction;
use crosstalk_probe::band::Band;

use super::slow_server::SlowServer;
use super::{alone, followed, stage};

/// One of so many tries must agree.
const TRIES: usize = 10;

/// Sets a flag with the drop, also after a panic: the threads that wait for it must end.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two threads compute on this processor while `work` runs.
fn hogged<T>(cpu: usize, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _pinned = cpu::PinnedThread::begin(cpu).expect("pins");
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _over = SetAtEnd(&over);
        work()
    })
}

#[test]
fn a_hog_on_the_receivers_processor_shows_as_scheduling() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let Some(cpu) = cpu::allowed().last().copied() else { return };
    let params = params.with("duration", "1 s");
    let mut failures = Vec::new();
    while failures.len() < TRIES {
        let server = SlowServer { cpu: Some(cpu), ..SlowServer::default() };
        let (outcome, stages) = hogged(cpu, || server.measure(&params));
        let queued = server.queued.lock().expect("no panic");
        let counted = &queued[(outcome.warm_up as usize).min(queued.len())..];
        let truth = counted.iter().sum::<f64>() / counted.len() as f64;
        let scheduling = stage(&stages, Band::All, Direction::There, "scheduling");
        // The server may also be preempted while it sends the reply, which is another stage.
        let sending = stage(&stages, Band::All, Direction::Back, "send: call and protocol");
        let agrees = scheduling <= 1.15 * truth && scheduling + sending >= 0.85 * truth;
        if counted.len() >= 20 && truth > 20e-6 && agrees {
            return;
        }
        failures.push(format!(
            "{scheduling} s and {sending} s while sending; by the scheduler {truth} s, of {} messages",
            counted.len()
        ));
    }
    panic!("{failures:#?}");
}
