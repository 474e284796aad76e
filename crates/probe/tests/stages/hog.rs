//! Waiting for a processor that other threads use.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crosstalk_host::cpu;
use crosstalk_observe::stages::Way;
use crosstalk_probe::band::Band;

use super::slow_server::SlowServer;
use super::{alone, followed, stage};

/// Sets a flag with the drop, also after a panic: the threads that wait for it must end.
struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_hog_on_the_receivers_processor_shows_as_scheduling() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let Some(cpu) = cpu::allowed().last().copied() else { return };
    let server = SlowServer { cpu: Some(cpu), ..SlowServer::default() };
    let over = AtomicBool::new(false);
    let (outcome, stages) = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _pinned = cpu::Pinned::begin(cpu).expect("pins");
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let _over = SetAtEnd(&over);
        server.measure(&params.with("duration", "2 s"))
    });
    let queued = server.queued.lock().expect("no panic");
    let counted = &queued[(outcome.warm_up as usize).min(queued.len())..];
    let truth = counted.iter().sum::<f64>() / counted.len() as f64;
    if counted.len() < 20 || truth < 20e-6 {
        eprintln!("skipped: of {} messages each waited {truth} s for its processor", counted.len());
        return;
    }
    let found = stage(&stages, Band::All, Way::There, "scheduling");
    assert!((found / truth - 1.0).abs() < 0.15, "{found} s, and the scheduler says {truth} s: {stages:?}");
}
