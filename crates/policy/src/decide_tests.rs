//! The policy against machines on which the truth is known, with a simulated clock.

use proptest::prelude::*;

use super::*;
use crate::decision::Grade;
use crate::host::Host;
use crate::simulated::Machine;
use crate::snapshot::{Probe, ProbePlace, Served};

const ALL: Offers = Offers { idle: true, duty_cycle: true, pause: true, cores: true };
const CONTRACT: Contract = Contract { slowdown: 0.01, busy: 0.05 };

/// Runs the policy on the machine for so long; calls `seen` at every decision.
fn run(policy: &mut Policy, machine: &mut Machine, seconds: f64, seen: impl FnMut(f64, &Decision)) {
    run_seeing(policy, machine, seconds, |_, snapshot| snapshot, seen);
}

/// The same, where the policy sees what `sees` makes of each snapshot; `true`: background work ran.
fn run_seeing(
    policy: &mut Policy,
    machine: &mut Machine,
    seconds: f64,
    mut sees: impl FnMut(bool, Snapshot) -> Snapshot,
    mut seen: impl FnMut(f64, &Decision),
) {
    let until = machine.time + seconds;
    let mut probe = false;
    while machine.time < until {
        let snapshot = machine.sample(probe).expect("is there");
        let decision = policy.step(machine.now(), &sees(machine.running(), snapshot));
        seen(machine.time, &decision);
        machine.apply(&decision.grant, decision.run);
        assert!(decision.wake > Duration::ZERO && decision.wake <= Duration::from_secs(2), "{decision:?}");
        machine.sleep(decision.wake);
        probe = decision.probe;
    }
}

fn machine(cores: usize, foreground: f64, ratio: f64) -> Machine {
    let mut machine = Machine::new(cores, ALL);
    machine.foreground = Box::new(move |_| foreground);
    machine.ratio = Box::new(move |_| ratio);
    machine
}

/// After a warm-up: foreground work's slowdown, and the share of what could be donated that is.
fn outcome(machine: &mut Machine, contract: Contract, seconds: f64) -> (f64, f64) {
    let mut policy = Policy::new(contract, machine.offers, machine.cores);
    run(&mut policy, machine, 20.0, |_, _| {});
    (machine.foreground_done, machine.donated) = ([0.0; 2], [0.0; 2]);
    run(&mut policy, machine, seconds, |_, _| {});
    (machine.foreground_done[1] / machine.foreground_done[0] - 1.0, machine.donated[0] / machine.donated[1])
}

#[test]
fn beside_background_work_that_only_computes_nearly_all_is_donated() {
    let mut machine = machine(2, 1.0, 1.0);
    machine.noise = 0.03;
    let (_, donated) = outcome(&mut machine, CONTRACT, 100.0);
    assert!(donated > 0.97, "{donated}");
}

#[test]
fn memory_bound_foreground_work_is_slowed_by_no_more_than_agreed_and_the_budget_is_used() {
    for (budget, ratio) in [(0.01, 1.4), (0.01, 2.0), (0.05, 1.4), (0.05, 1.1), (0.05, 3.0)] {
        let mut machine = machine(2, 1.0, ratio);
        machine.noise = 0.03;
        let (slowdown, _) = outcome(&mut machine, Contract { slowdown: budget, ..CONTRACT }, 100.0);
        assert!(slowdown <= budget && slowdown > 0.5 * budget, "{budget} at {ratio}: {slowdown}");
    }
}

#[test]
fn contention_that_begins_is_held_back_within_a_second_and_a_half() {
    for seed in 1..20 {
        let mut machine = machine(2, 1.0, 1.0);
        machine.ratio = Box::new(|time| if time < 30.0 { 1.0 } else { 2.0 });
        (machine.noise, machine.seed) = (0.02, seed);
        let mut policy = Policy::new(CONTRACT, ALL, 2);
        run(&mut policy, &mut machine, 30.0, |_, _| {});
        let mut held = None;
        run(&mut policy, &mut machine, 5.0, |at, decision| {
            held = held.or((decision.grant.share < 0.1).then_some(at));
        });
        assert!(held.is_some_and(|at| at < 31.5), "{seed}: {held:?}");
    }
}

#[test]
fn where_foreground_work_uses_everything_background_work_is_paused() {
    let mut machine = machine(2, 4.0, 1.5);
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    run(&mut policy, &mut machine, 10.0, |_, _| {});
    run(&mut policy, &mut machine, 10.0, |_, decision| {
        assert!(!decision.run && decision.grade == Grade::Paused && decision.why.pause == Some(Pause::Full));
    });
}

#[test]
fn foreground_work_that_starts_is_protected_at_once_and_background_work_is_back_soon() {
    let mut machine = machine(2, 0.0, 1.5);
    machine.foreground = Box::new(|time| if (30.0..40.0).contains(&time) { 1.0 } else { 0.0 });
    machine.noise = 0.03;
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    run(&mut policy, &mut machine, 30.0, |_, decision| assert_eq!(decision.grade, Grade::Base));
    let mut first = None;
    run(&mut policy, &mut machine, 1.0, |at, decision| {
        first = first.or((decision.grade > Grade::Base).then_some(at));
    });
    assert!(first.is_some_and(|at| at < 30.1), "{first:?}");
    let first_second = machine.foreground_done[0] / machine.foreground_done[1];
    assert!(first_second > 0.96, "{first_second}");
    run(&mut policy, &mut machine, 9.0, |_, _| {});
    let mut back = None;
    run(&mut policy, &mut machine, 5.0, |at, decision| {
        back = back.or((decision.run && decision.grade == Grade::Base).then_some(at));
    });
    assert!(back.is_some_and(|at| at < 42.0), "{back:?}");
}

#[test]
fn contention_no_larger_than_what_probes_differ_by_is_held_back_on_average() {
    for ratio in [1.012, 1.016, 1.02, 1.025] {
        let slowdowns = (0..100).map(|seed| {
            let mut machine = machine(2, 1.0, ratio);
            (machine.noise, machine.seed) = (0.02, 7 * seed + 1);
            outcome(&mut machine, CONTRACT, 30.0).0
        });
        let mean = slowdowns.sum::<f64>() / 100.0;
        assert!(mean < 0.01, "{mean} at {ratio}");
    }
}

#[test]
fn contention_that_comes_and_goes_is_held_back_on_average() {
    let slowdowns = (1..20).map(|seed| {
        let mut machine = machine(2, 1.0, 1.0);
        machine.ratio = Box::new(|time| if time % 6.0 < 3.0 { 1.5 } else { 1.0 });
        (machine.noise, machine.seed) = (0.02, seed);
        outcome(&mut machine, Contract { slowdown: 0.05, ..CONTRACT }, 60.0).0
    });
    let mean = slowdowns.sum::<f64>() / 19.0;
    assert!(mean < 0.05, "{mean}");
}

#[test]
fn a_probe_that_is_not_in_foreground_works_place_says_nothing_against_those_that_were() {
    let mut machine = machine(2, 1.0, 2.0);
    (machine.noise, machine.placed) = (0.02, Box::new(|time| !(20.0..25.0).contains(&time)));
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    run(&mut policy, &mut machine, 10.0, |_, _| {});
    run(&mut policy, &mut machine, 20.0, |at, decision| {
        assert!(decision.grant.share < 0.05, "{at}: {:?}", decision.why);
    });
}

#[test]
fn probes_on_two_processors_say_nothing_about_each_other() {
    // What the caches of each hold is as large a difference as background work makes.
    let mut machine = machine(2, 1.0, 2.0);
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    let sees = |ran, snapshot: Snapshot| Snapshot {
        probe_place: ProbePlace { on: Some(usize::from(ran)), ..snapshot.probe_place },
        ..snapshot
    };
    run_seeing(&mut policy, &mut machine, 10.0, sees, |_, decision| assert_eq!(decision.why.pairs, 0));
}

#[test]
fn foreground_work_whose_place_is_never_known_is_protected_by_what_probes_elsewhere_say() {
    // Where many processors are, one more or less of background work's is no difference.
    for foreground in [0.0, 1.0] {
        let mut machine = machine(8, foreground, 2.0);
        machine.noise = 0.02;
        let mut policy = Policy::new(CONTRACT, ALL, 8);
        let sees = |_, snapshot| Snapshot { probe_place: ProbePlace::default(), ..snapshot };
        let mut pairs = 0;
        run_seeing(&mut policy, &mut machine, 20.0, sees, |at, decision| {
            pairs = decision.why.pairs;
            let held = foreground == 0.0 || at < 10.0 || decision.grant.share < 0.05;
            assert!(held, "{:?}", decision.why);
        });
        assert!(pairs >= 8, "{pairs}");
    }
}

#[test]
fn without_the_idle_class_foreground_work_keeps_its_processors() {
    let mut machine = machine(4, 2.0, 1.0);
    machine.offers = Offers { idle: false, ..ALL };
    let mut policy = Policy::new(CONTRACT, machine.offers, 4);
    run(&mut policy, &mut machine, 10.0, |_, _| {});
    run(&mut policy, &mut machine, 1.0, |_, decision| assert_eq!(decision.grant.cores, 2));
}

#[test]
fn without_the_idle_class_foreground_work_waits_no_longer_than_agreed() {
    for (foreground, waits) in [(1.0, 0.1), (1.5, 0.17), (1.2, 0.4)] {
        let mut machine = machine(2, foreground, 1.0);
        machine.offers = Offers { idle: false, ..ALL };
        machine.waits = waits;
        let (slowdown, donated) = outcome(&mut machine, CONTRACT, 100.0);
        assert!(slowdown <= 0.01 && slowdown > 0.004, "{foreground} and {waits}: {slowdown}");
        assert!(donated > 0.02, "{donated}");
    }
}

#[test]
fn pairs_say_nothing_while_background_work_is_released_that_is_to_be_paused() {
    let mut machine = machine(2, 1.0, 1.5);
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    run(&mut policy, &mut machine, 20.0, |_, _| {});
    let slow = |probe| Probe { latency: 1.5, ..probe };
    let sees = |ran: bool, snapshot: Snapshot| Snapshot {
        released: !ran,
        probe: snapshot.probe.map(slow),
        ..snapshot
    };
    run_seeing(&mut policy, &mut machine, 20.0, sees, |_, decision| {
        assert!(decision.grant.share < 0.1, "it is not over because nobody was paused: {:?}", decision.why);
    });
}

#[test]
fn background_work_that_takes_memory_from_foreground_work_is_paused_ever_longer() {
    let mut machine = machine(2, 1.0, 1.0);
    machine.takes_memory = true;
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    let (mut pauses, mut was) = (0, false);
    run(&mut policy, &mut machine, 600.0, |_, decision| {
        let paused = decision.why.pause == Some(Pause::Memory);
        pauses += usize::from(paused && !was);
        was = paused;
    });
    assert!((5..=7).contains(&pauses), "{pauses} in ten minutes");
}

#[test]
fn where_nothing_can_be_done_nothing_is_tried() {
    let none = Offers { idle: false, duty_cycle: false, pause: false, cores: false };
    let mut machine = machine(2, 2.0, 2.0);
    (machine.offers, machine.takes_memory) = (none, true);
    let mut policy = Policy::new(CONTRACT, none, 2);
    run(&mut policy, &mut machine, 20.0, |_, decision| {
        assert!(decision.run && decision.grade == Grade::Base && !decision.probe, "{decision:?}");
    });
}

#[test]
fn a_guard_that_costs_too_much_samples_more_rarely() {
    let samples = |sampling: f64| {
        let mut policy = Policy::new(CONTRACT, ALL, 2);
        let mut now = Duration::ZERO;
        let mut count = 0;
        while now < Duration::from_secs(60) {
            let decision =
                policy.step(now, &Snapshot { foreground_cpu: 1.0, sampling, ..Snapshot::quiet(2, 0.05) });
            now += decision.wake;
            count += 1;
        }
        count
    };
    assert!(samples(0.01) * 3 < samples(0.001));
}

#[test]
fn foreground_work_that_has_only_begun_is_sampled_quickly_for_a_moment() {
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    let mut now = Duration::ZERO;
    let mut sample = |foreground_cpu: f64| {
        let wake = policy.step(now, &Snapshot { foreground_cpu, ..Snapshot::quiet(2, 0.025) }).wake;
        now += wake;
        wake
    };
    (0..20).for_each(|_| assert!(sample(0.0) <= SAMPLE[0]));
    let samples: Vec<Duration> = (0..40).map(|_| sample(0.3)).collect();
    assert!(samples[..8].iter().all(|sample| *sample <= BEGINS), "{samples:?}");
    assert!(samples[30..].iter().any(|sample| *sample > BEGINS), "{samples:?}");
}

#[test]
fn a_probe_that_was_asked_for_is_followed_by_a_switch_however_much_sampling_costs() {
    let mut machine = machine(2, 1.0, 1.5);
    let mut policy = Policy::new(CONTRACT, ALL, 2);
    let mut asked = 0;
    // From then on sampling becomes rarer, which puts off every switch.
    for (seconds, sampling) in [(5.0, 0.0), (15.0, 0.02)] {
        let sees = |_, snapshot| Snapshot { sampling, ..snapshot };
        run_seeing(&mut policy, &mut machine, seconds, sees, |_, decision| {
            asked += usize::from(decision.probe);
        });
    }
    // Some switches take none: foreground work is tried when it begins.
    assert!(asked <= machine.switches + 1, "{asked} probes, {} switches", machine.switches);
}

/// From 10 s to 20 s foreground work waits for devices, whose requests take three times as long beside others. How
/// far the guard goes, and when, and for how long background work runs beside foreground work that is known.
fn beside_devices() -> (Vec<(f64, Grade)>, Duration) {
    const SAMPLES: f64 = 0.02;
    // As long as it is asked for: being paused for a probe takes less than the others.
    let mut sample = SAMPLES;
    let mut policy = Policy::new(Contract { slowdown: 0.05, ..CONTRACT }, ALL, 2);
    let (mut now, mut ran, mut runs, mut probed) = (Duration::ZERO, Duration::ZERO, true, false);
    let (mut grades, mut served, mut paused) = (Vec::new(), Served::default(), 0.0);
    while now < Duration::from_secs(25) {
        let foreground = (10.0..20.0).contains(&now.as_secs_f64());
        let background = if runs { sample } else { 0.0 };
        let waited = if foreground { sample } else { background };
        let requests = &mut served.requests.0[1];
        *requests = (requests.0 + waited / if runs { 0.003 } else { 0.001 }, requests.1 + waited);
        served.seconds += sample;
        served.waited += waited;
        served.background = Some(served.background.unwrap_or(0.0) + background);
        // They are sampled rarely, and at both ends of what background work is paused for.
        paused = if runs { 0.0 } else { paused + sample };
        let due = served.seconds >= 0.25 || paused >= 0.04 && (served.seconds > paused - 0.04 || probed);
        let counted = due.then(|| std::mem::take(&mut served));
        // What it gets from devices sooner it computes on sooner, and it always waits a little for processors.
        let foreground_cpu = if foreground { 0.06 * if runs { 1.0 } else { 3.0 } } else { 0.001 };
        let probe = probed.then_some(Probe { compute: 1.0, latency: 1.0, bandwidth: 1.0 });
        let snapshot = Snapshot {
            foreground_cpu,
            background_cpu: 1.0,
            foreground_wait: Some(0.02),
            served: counted,
            ..Snapshot::quiet(2, sample)
        };
        let snapshot = Snapshot { probe, ..snapshot };
        let decision = policy.step(now, &snapshot);
        probed = decision.probe;
        assert!(decision.grade != Grade::DutyCycle || decision.why.devices > 0.0, "{decision:?}");
        assert!(decision.why.waiting == 0.0, "{decision:?}");
        grades.push((now.as_secs_f64(), decision.grade));
        now += Duration::from_secs_f64(sample);
        runs = decision.run;
        sample = decision.wake.as_secs_f64().clamp(0.001, SAMPLES);
        if runs && (12.0..20.0).contains(&now.as_secs_f64()) {
            ran += Duration::from_secs_f64(sample);
        }
    }
    (grades, ran)
}

#[test]
fn foreground_work_that_waits_for_devices_is_protected_although_it_hardly_computes() {
    let (grades, ran) = beside_devices();
    let of = |from: f64, to: f64, grade: Grade| {
        let there = grades.iter().filter(|(at, _)| (from..to).contains(at));
        there.clone().filter(|(_, found)| *found == grade).count() as f64 / there.count() as f64
    };
    assert!(of(0.0, 9.9, Grade::Base) > 0.99 && of(12.0, 19.9, Grade::DutyCycle) > 0.9, "{grades:?}");
    assert_eq!(of(22.0, 25.0, Grade::DutyCycle) + of(22.0, 25.0, Grade::Paused), 0.0, "{grades:?}");
    // 0.04/1.04 × 3/2 of the time, and 20 ms at least.
    assert!(ran < Duration::from_millis(900), "{ran:?}");
}

/// Devices that both wait for, for such a share of the time, and that serve so many requests a second.
fn at_devices(seconds: f64, waits: f64, requests: f64) -> Served {
    let waited = seconds * waits.min(1.0);
    let mut served = Served { seconds, waited, background: Some(waited / 2.0), ..Served::default() };
    served.requests.0[0] = (seconds * requests, waited);
    served
}

/// A snapshot with any pressure.
fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let pressure = (0.0_f64..2.0, 0.0_f64..2.0, 0.0_f64..0.2, 0.0_f64..0.2, 0.0_f64..500.0);
    (pressure, 0_u64..2000, prop::option::of((0.9_f64..2.0, 0.9_f64..2.0)), 0.004_f64..0.3).prop_map(
        |((foreground_cpu, foreground_wait, memory_stall, io_stall, refaults), taken, probe, interval)| {
            Snapshot {
                foreground_cpu,
                background_cpu: 2.0 - foreground_cpu,
                foreground_wait: Some(foreground_wait),
                memory_stall,
                io_stall,
                refaults,
                background_taken: taken as f64 * 10.0,
                free_memory: 0,
                served: Some(at_devices(interval, io_stall * 5.0, taken as f64)),
                probe: probe.map(|(compute, latency)| Probe { compute, latency, bandwidth: 1.0 }),
                ..Snapshot::quiet(2, interval)
            }
        },
    )
}

/// Less or equal in every respect; a duty cycle gives and takes by itself.
fn no_more(less: &Grant, than: &Grant) -> bool {
    less.share <= than.share + 1e-12 && less.cores <= than.cores
}

proptest! {
    #[test]
    fn more_pressure_never_gives_more_to_background_work(
        before in prop::collection::vec(any_snapshot(), 1..80),
        last in any_snapshot(),
        more in (0.0_f64..1.0, 0.0_f64..0.3, 0.0_f64..500.0, 0.0_f64..0.5),
        idle in any::<bool>(),
    ) {
        let offers = Offers { idle, cores: false, ..ALL };
        let mut policy = Policy::new(CONTRACT, offers, 2);
        let mut now = Duration::ZERO;
        for snapshot in &before {
            now += Duration::from_secs_f64(snapshot.interval);
            policy.step(now, snapshot);
        }
        now += Duration::from_secs_f64(last.interval);
        let running = policy.cycle.running();
        // A slower probe is more pressure while background work runs; while it is paused, less.
        let probe = last.probe.map(|probe| Probe {
            latency: probe.latency * if running { 1.0 + more.3 } else { 1.0 },
            ..probe
        });
        let worse = Snapshot {
            foreground_wait: last.foreground_wait.map(|wait| wait + more.0),
            memory_stall: last.memory_stall + more.1,
            refaults: last.refaults + more.2,
            probe,
            ..last
        };
        let mut other = policy.clone();
        let (mild, hard) = (policy.step(now, &last), other.step(now, &worse));
        prop_assert!(no_more(&hard.grant, &mild.grant), "{mild:?}\n{hard:?}");
    }

    #[test]
    fn quiet_always_leads_back_to_the_base(before in prop::collection::vec(any_snapshot(), 1..80)) {
        let mut policy = Policy::new(CONTRACT, ALL, 2);
        let mut now = Duration::ZERO;
        for snapshot in &before {
            now += Duration::from_secs_f64(snapshot.interval);
            policy.step(now, snapshot);
        }
        let began = now;
        let mut last = None;
        while now < began + Duration::from_secs(2) {
            let served = Some(at_devices(0.05, 0.0, 0.0));
            let decision = policy.step(now, &Snapshot { background_cpu: 2.0, served, ..Snapshot::quiet(2, 0.05) });
            now += decision.wake;
            last = Some(decision);
        }
        let last = last.expect("some");
        prop_assert!(last.grade == Grade::Base, "{last:?}");
    }

    #[test]
    fn it_switches_no_more_often_than_it_must(foreground in 0.0_f64..2.0, ratio in 1.0_f64..3.0, noise in 0.0_f64..0.1) {
        let mut machine = machine(2, foreground, ratio);
        machine.noise = noise;
        let mut policy = Policy::new(CONTRACT, ALL, 2);
        run(&mut policy, &mut machine, 30.0, |_, _| {});
        prop_assert!(machine.switches < 30 * 25, "{} switches in 30 s", machine.switches);
    }

    #[test]
    fn contention_that_probes_show_is_held_to_the_budget_every_time(
        foreground in 0.1_f64..1.5, ratio in 1.06_f64..3.0, budget in 0.01_f64..0.1, seed in 1_u64..10_000,
    ) {
        let slowdown = after_the_start(foreground, ratio, budget, seed);
        prop_assert!(slowdown <= budget, "{slowdown}");
    }
}

/// Foreground work's slowdown on two processors where probes differ by two hundredths by themselves.
fn after_the_start(foreground: f64, ratio: f64, budget: f64, seed: u64) -> f64 {
    let mut machine = machine(2, foreground, ratio);
    (machine.noise, machine.seed) = (0.02, seed);
    outcome(&mut machine, Contract { slowdown: budget, ..CONTRACT }, 30.0).0
}
