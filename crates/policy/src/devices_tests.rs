//! What is concluded of foreground work at devices, on a device of which the truth is known.

use super::*;

const SAMPLE: f64 = 0.02;

/// A device and foreground work at it.
#[derive(Clone, Copy)]
struct Truth {
    /// Share of its time for which foreground work waits, alone.
    waits: f64,
    /// Seconds that the mean request takes, without background work and beside it.
    each: [f64; 2],
    /// Processors that foreground work uses.
    foreground_cpu: f64,
    /// Share of its time for which background work waits.
    background: f64,
    /// Kinds that background work's requests are of; foreground work's is the first.
    kind: usize,
    /// Whether requests' times are random as the exponential distribution's.
    random: bool,
}

const SLOWED: Truth =
    Truth { waits: 0.9, each: [0.001, 0.003], foreground_cpu: 0.1, background: 1.0, kind: 0, random: false };
const GONE: Truth = Truth { waits: 0.0, foreground_cpu: 0.001, ..SLOWED };

struct Scene {
    devices: Devices,
    at: f64,
    seed: u64,
}

impl Scene {
    fn new() -> Self {
        Scene { devices: Devices::default(), at: 0.0, seed: 1 }
    }

    /// A number from 0 to 1 (xorshift64, Marsaglia 2003), each as likely as any other.
    fn random(&mut self) -> f64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        ((self.seed >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// How many requests of that mean are served one after the other in so long, and how long they take.
    fn requests(&mut self, seconds: f64, each: f64, random: bool) -> (f64, f64) {
        if !random {
            return (seconds / each, seconds);
        }
        let (mut count, mut time) = (0.0, 0.0);
        while time < seconds {
            time += -self.random().ln() * each;
            count += 1.0;
        }
        (count, time)
    }

    /// Looks for so long; the share of the time for which background work ran.
    fn watch(&mut self, seconds: f64, truth: Truth) -> f64 {
        let (mut ran, samples) = (0, (seconds / SAMPLE).round() as usize);
        for sample in 0..samples {
            self.at += SAMPLE;
            // Where foreground work is slowed, background work runs in a duty cycle.
            let runs = !self.devices.is_in_trial() && (self.devices.ratio() == 1.0 || sample % 20 == 0);
            ran += usize::from(runs);
            let mut served = Served { seconds: SAMPLE, ..Served::default() };
            let foreground = SAMPLE * truth.waits;
            let background = if runs { SAMPLE * truth.background } else { 0.0 };
            (served.background, served.waited) = (Some(background), background.max(foreground));
            let each = if runs && truth.kind == 0 { truth.each[1] } else { truth.each[0] };
            served.requests.0[0] = self.requests(foreground, each, truth.random);
            if background > 0.0 {
                let theirs = self.requests(background, truth.each[1], truth.random);
                let both = &mut served.requests.0[truth.kind];
                *both = (both.0 + theirs.0, both.1 + theirs.1);
            }
            self.see(truth.foreground_cpu, Some(served), runs);
        }
        ran as f64 / samples as f64
    }

    fn see(&mut self, foreground_cpu: f64, served: Option<Served>, runs: bool) {
        let now = Duration::from_secs_f64(self.at);
        let snapshot = Snapshot { foreground_cpu, served, ..Snapshot::quiet(2, SAMPLE) };
        self.devices.see(now, &snapshot, if runs { Background::Ran } else { Background::Paused });
        self.devices.consider(now);
    }
}

#[test]
fn how_much_longer_foreground_work_takes_is_known_within_a_second() {
    let mut scene = Scene::new();
    scene.watch(0.8, SLOWED);
    // 1 + 0.9 × (3 − 1).
    assert!((scene.devices.ratio() - 2.8).abs() < 0.01, "{}", scene.devices.ratio());
    assert!(scene.devices.may_explain());
}

#[test]
fn what_foreground_work_seldom_waits_for_hardly_slows_it() {
    let mut scene = Scene::new();
    scene.watch(1.5, Truth { waits: 0.1, each: [0.0001, 0.0003], ..SLOWED });
    assert!((scene.devices.ratio() - 1.2).abs() < 0.01, "{}", scene.devices.ratio());
}

#[test]
fn background_work_alone_at_a_device_is_hardly_ever_disturbed() {
    for waits in [0.0, 0.01] {
        let mut scene = Scene::new();
        let ran = scene.watch(200.0, Truth { waits, ..SLOWED });
        assert!(ran > 0.97 && scene.devices.ratio() == 1.0, "{ran}");
    }
    assert_eq!(Scene::new().watch(200.0, GONE), 1.0, "nobody is awake");
}

#[test]
fn a_device_that_serves_both_as_fast_is_left_to_both() {
    let mut scene = Scene::new();
    let ran = scene.watch(200.0, Truth { each: [0.001, 0.001], ..SLOWED });
    assert!(ran > 0.97 && scene.devices.ratio() == 1.0, "{ran}");
}

#[test]
fn chance_is_not_taken_for_a_loss() {
    for (seed, each) in (1..20).flat_map(|seed| [(seed, 0.0005), (seed, 0.01)]) {
        let mut scene = Scene { seed, ..Scene::new() };
        let ran = scene.watch(200.0, Truth { each: [each, each], random: true, ..SLOWED });
        assert!(ran > 0.93, "{seed}: {ran}");
    }
}

#[test]
fn a_loss_is_found_however_random_requests_are() {
    for seed in 1..20 {
        let mut scene = Scene { seed, ..Scene::new() };
        let ran = scene.watch(60.0, Truth { random: true, ..SLOWED });
        assert!(ran < 0.12, "{seed}: {ran}");
    }
}

#[test]
fn a_slow_disk_is_watched_for_longer() {
    let mut scene = Scene::new();
    // A hundred requests a second.
    scene.watch(3.0, Truth { each: [0.01, 0.08], foreground_cpu: 0.004, ..SLOWED });
    assert!(scene.devices.ratio() > 5.0, "{}", scene.devices.ratio());
}

#[test]
fn who_uses_another_disk_is_left_alone() {
    let mut scene = Scene::new();
    let ran = scene.watch(200.0, Truth { kind: 3, each: [0.001, 0.01], ..SLOWED });
    assert!(ran > 0.97 && scene.devices.ratio() == 1.0, "{ran}");
}

#[test]
fn it_is_tried_again_after_ever_longer_times_while_it_stays_true() {
    let (mut scene, mut open) = (Scene::new(), 0);
    for _ in 0..15_000 {
        scene.watch(SAMPLE, SLOWED);
        open += usize::from(scene.devices.ratio() == 1.0);
    }
    assert!(open < 225, "{open} of 15000 samples");
}

#[test]
fn when_foreground_work_wants_nothing_any_more_background_work_is_back_soon() {
    let mut scene = Scene::new();
    scene.watch(5.0, SLOWED);
    assert!(scene.devices.ratio() > 2.0);
    scene.watch(1.9, GONE);
    assert_eq!(scene.devices.ratio(), 1.0);
}

#[test]
fn where_requests_or_waiting_are_not_counted_nothing_is_tried() {
    for (requests, background) in [((0.0, 0.0), Some(SAMPLE)), ((50.0, SAMPLE), None)] {
        let mut scene = Scene::new();
        let mut served = Served { seconds: SAMPLE, waited: SAMPLE, background, ..Served::default() };
        served.requests.0[0] = requests;
        for _ in 0..500 {
            scene.at += SAMPLE;
            scene.see(0.1, Some(served), true);
            assert!(!scene.devices.is_in_trial() && scene.devices.ratio() == 1.0);
        }
    }
}

#[test]
fn background_work_that_wants_nothing_of_devices_any_more_is_let_go_soon() {
    let mut scene = Scene::new();
    scene.watch(5.0, SLOWED);
    assert!(scene.devices.ratio() > 2.0);
    scene.watch(5.0, Truth { background: 0.0, ..SLOWED });
    assert_eq!(scene.devices.ratio(), 1.0);
    assert_eq!(scene.watch(60.0, Truth { background: 0.0, ..SLOWED }), 1.0);
}

#[test]
fn foreground_work_that_begins_is_tried_although_nothing_was_found_before() {
    let mut scene = Scene::new();
    scene.watch(100.0, Truth { waits: 0.0, foreground_cpu: 0.015, ..SLOWED });
    assert_eq!(scene.devices.ratio(), 1.0);
    scene.devices.rewind();
    scene.watch(1.0, SLOWED);
    assert!(scene.devices.ratio() > 2.0);
}

#[test]
fn a_pause_for_a_probe_keeps_nothing_from_being_seen() {
    let mut scene = Scene::new();
    let mut served = Served { seconds: 0.25, waited: 0.25, background: Some(0.2), ..Served::default() };
    served.requests.0[0] = (100.0, 0.25);
    for sample in 1..=12 {
        scene.at += 0.1;
        // Devices are read every 0.3 s, and a probe is taken before each.
        let (background, read) = match sample % 3 {
            2 => (Background::Probed, None),
            0 => (Background::Ran, Some(served)),
            _ => (Background::Ran, None),
        };
        let snapshot = Snapshot { foreground_cpu: 0.1, served: read, ..Snapshot::quiet(2, 0.1) };
        scene.devices.see(Duration::from_secs_f64(scene.at), &snapshot, background);
        scene.devices.consider(Duration::from_secs_f64(scene.at));
    }
    assert!(scene.devices.is_in_trial());
}

#[test]
fn what_was_served_beside_other_work_is_forgotten() {
    let mut scene = Scene::new();
    // Background work alone, whose requests are slow; then nobody for a while.
    scene.watch(2.0, Truth { each: [0.01, 0.01], ..GONE });
    scene.watch(6.0, Truth { background: 0.0, ..GONE });
    for _ in 0..200 {
        scene.watch(SAMPLE, Truth { each: [0.001, 0.001], ..SLOWED });
        assert_eq!(scene.devices.ratio(), 1.0);
    }
}

#[test]
fn a_trial_that_sees_nothing_ends() {
    for seen in [
        None,
        Some(Served { seconds: SAMPLE, waited: SAMPLE, background: Some(SAMPLE), ..Served::default() }),
    ] {
        let mut scene = Scene::new();
        while !scene.devices.is_in_trial() {
            scene.watch(SAMPLE, SLOWED);
        }
        // Nothing is counted any more, or what background work had begun does not end.
        for _ in 0..60 {
            scene.at += SAMPLE;
            scene.see(0.1, seen, false);
        }
        assert!(!scene.devices.is_in_trial() && scene.devices.ratio() == 1.0);
    }
}
