//! Where messages' time goes: every message is followed, and a delay that is put in on purpose
//! appears in its stage, as long as somebody else timed it, and only there.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_core::need::Need;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_host::cpu;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_observe::stages::Way;
use crosstalk_probe::band::Band;
use crosstalk_probe::latency::{LATENCY, Outcome, Spec, Stages, measure};
use rustix::time::{ClockId, clock_gettime};

mod ends;
mod impostor;

use impostor::{impostor_of, read_line};

/// One test at a time: one's hog is not to be another's delay.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// With stages, where they can be seen.
fn followed(transport: &str) -> Option<Params> {
    let params = Params::default().with("transport", transport).with("stages", true);
    let needs = LATENCY.needs(&params);
    let missing = needs.iter().find(|need| !need.is_found());
    if let Some(missing) = missing {
        eprintln!("skipped: {missing:?}");
    }
    needs.iter().all(Need::is_found).then_some(params)
}

fn on_this_host(params: &Params) -> Outcome {
    let spec = Spec::from_params(params).expect("reads");
    ends::on_this_host(|target, until| measure(target, &spec, until)).expect("measures").remove(0)
}

/// Seconds of a stage in one way, of the messages in a band.
fn taken(stages: &Stages, band: Band, way: Way, name: &str) -> f64 {
    let (_, of_band, ..) = stages.bands.iter().find(|known| known.0 == band).expect("has messages");
    of_band.iter().filter(|stage| (stage.0, stage.1) == (way, name)).map(|stage| stage.2).sum()
}

/// Seconds of all stages.
fn sum(stages: &Stages, band: Band) -> f64 {
    let (_, of_band, ..) = stages.bands.iter().find(|known| known.0 == band).expect("has messages");
    of_band.iter().map(|stage| stage.2).sum()
}

/// How far the stages of messages around the median may be from that, together.
const WHOLE: f64 = 0.15;

/// All stages of messages around the median, over that.
fn whole(outcome: &Outcome) -> f64 {
    let median = outcome.round_trip.quantile(0.5).expect("some") * 1e-9;
    sum(outcome.stages.as_ref().expect("asked for"), Band::P50) / median
}

#[test]
fn every_message_is_followed_through_the_kernel() {
    let _alone = alone();
    for transport in ["tcp", "udp"] {
        for mode in ["blocking", "polling"] {
            let Some(params) = followed(transport) else { return };
            let params = params.with("mode", mode).with("duration", "500 ms");
            let mut outcome = on_this_host(&params);
            // While a host changes its pace, those that were followed are not those around the median of all.
            for _ in 0..2 {
                if (whole(&outcome) - 1.0).abs() < WHOLE {
                    break;
                }
                outcome = on_this_host(&params);
            }
            let whole = whole(&outcome);
            assert!((whole - 1.0).abs() < WHOLE, "{transport} {mode}: {whole} of the median");
            let stages = outcome.stages.expect("asked for");
            let (looked_for, matched) = (stages.looked_for, stages.matched);
            assert!(
                matched > 5 && matched as f64 >= 0.99 * looked_for as f64,
                "{transport} {mode}: {matched} of {looked_for}"
            );
            let (band, _, n, unexplained) = &stages.bands[1];
            assert!(*band == Band::P50 && *unexplained < 0.05, "{n} messages, {unexplained}");
            let there = |name| taken(&stages, Band::P50, Way::There, name);
            // Only who sleeps is woken.
            assert_eq!(there("wake-up") > 1e-7, mode == "blocking", "{transport} {mode}");
            assert!(there("driver and wire") > 0.0 && there("send: call and protocol") > 0.0);
        }
    }
}

/// What a serving end does to each message, and what it timed of it, in seconds.
#[derive(Default)]
struct Slow {
    /// How long it sleeps before it reads.
    rests: Duration,
    /// How long it sleeps before it replies.
    works: Duration,
    /// The processor that it is held on.
    cpu: Option<usize>,
    rested: Mutex<Vec<f64>>,
    worked: Mutex<Vec<f64>>,
    /// How long it waited for its processor from the reply before until it had the message, as the
    /// scheduler says.
    queued: Mutex<Vec<f64>>,
}

impl Slow {
    /// Sends every datagram back until the measuring end has finished.
    fn serve(&self, socket: &UdpSocket, over: &AtomicBool) {
        let _pinned = self.cpu.map(|cpu| cpu::Pinned::begin(cpu).expect("pins"));
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("sets");
        let (mut message, mut waited) = ([0; 1400], 0.0);
        while !over.load(Ordering::Relaxed) {
            let rested = nap(self.rests);
            let Ok((n, from)) = socket.recv_from(&mut message) else { continue };
            let (arrived, queued) = (now(), run_delay() - waited);
            if n == 8 {
                // The greeting tells who is at the other end.
                socket.connect(from).expect("connects");
            } else {
                self.rested.lock().expect("one thread").push(rested);
                self.queued.lock().expect("one thread").push(queued);
                self.worked.lock().expect("one thread").push(nap(self.works));
                message[8..16].copy_from_slice(&arrived.to_le_bytes());
                message[16..24].copy_from_slice(&now().to_le_bytes());
            }
            waited = run_delay();
            // The measuring end may have gone: the conversation tells.
            let _ = socket.send(&message[..n]);
        }
    }

    /// What is measured against it, over UDP.
    fn meet(&self, params: &Params) -> (Outcome, Stages) {
        let clock = format!(
            "\"{} {}\"",
            fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("has one").trim(),
            fs::read_link("/proc/self/ns/time").expect("Linux 5.6").display()
        );
        let over = AtomicBool::new(false);
        let upon = |_: &TcpListener, control: &mut TcpStream| {
            read_line(control);
            let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
            let port = socket.local_addr().expect("has one").port();
            writeln!(control, "{{\"answer\":\"ready\",\"token\":7,\"udp\":[{port}]}}").expect("is ready");
            thread::scope(|scope| {
                scope.spawn(|| self.serve(&socket, &over));
                read_line(control);
                over.store(true, Ordering::Relaxed);
            });
        };
        let mut outcome = impostor_of(impostor::VERSION, &clock, params, upon).expect("measures").remove(0);
        let stages = outcome.stages.take().expect("asked for");
        (outcome, stages)
    }
}

/// Sleeps, and tells for how many seconds.
fn nap(how_long: Duration) -> f64 {
    let begin = Instant::now();
    if !how_long.is_zero() {
        thread::sleep(how_long);
    }
    begin.elapsed().as_secs_f64()
}

fn now() -> u64 {
    let t = clock_gettime(ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Seconds that this thread has waited for a processor (Documentation/scheduler/sched-stats.rst).
fn run_delay() -> f64 {
    let told = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    told.split_whitespace().nth(1).and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

fn median(values: &Mutex<Vec<f64>>) -> f64 {
    let mut sorted = values.lock().expect("no panic").clone();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// That a stage has the time that somebody else timed, and all others together little beside it.
/// (On a busy machine; `bench/faults.py` has the figures of a quiet one.)
fn assert_it_is_there(stages: &Stages, band: Band, (way, name): (Way, &str), truth: f64) {
    let found = taken(stages, band, way, name);
    let others = sum(stages, band) - found;
    assert!((found / truth - 1.0).abs() < 0.15, "{name}: {found} s, and {truth} s were put in");
    assert!(others < 0.3 * truth, "{name}: {truth} s were put in, and others take {others} s: {stages:?}");
}

#[test]
fn a_receiver_that_sleeps_leaves_messages_in_its_socket() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let slow = Slow { rests: Duration::from_millis(20), ..Slow::default() };
    let (_, stages) = slow.meet(&params);
    assert_it_is_there(&stages, Band::P50, (Way::There, "socket queue"), median(&slow.rested));
}

#[test]
fn an_application_that_takes_its_time_is_told_from_the_system() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let slow = Slow { works: Duration::from_millis(20), ..Slow::default() };
    let (_, stages) = slow.meet(&params);
    assert_it_is_there(&stages, Band::P50, (Way::Back, "application"), median(&slow.worked));
}

/// Set when it goes, by a panic too: who waits for it must not wait for ever.
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
    let (slow, over) = (Slow { cpu: Some(cpu), ..Slow::default() }, AtomicBool::new(false));
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
        slow.meet(&params.with("duration", "2 s"))
    });
    let queued = slow.queued.lock().expect("no panic");
    let counted = &queued[(outcome.warm_up as usize).min(queued.len())..];
    let truth = counted.iter().sum::<f64>() / counted.len() as f64;
    if counted.len() < 20 || truth < 20e-6 {
        eprintln!("skipped: of {} messages each waited {truth} s for its processor", counted.len());
        return;
    }
    let found = taken(&stages, Band::All, Way::There, "scheduling");
    assert!((found / truth - 1.0).abs() < 0.15, "{found} s, and the scheduler says {truth} s: {stages:?}");
}

#[test]
fn a_slow_link_shows_as_the_queueing_discipline() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    // A network of its own, which goes with the thread.
    let measured = thread::spawn(move || {
        namespace::enter(Kinds::NET).ok()?;
        let shaped = ["ip link set lo up", "tc qdisc add dev lo root tbf rate 1mbit burst 1600 limit 100000"];
        let quietly = |line: &&str| {
            let mut words = line.split(' ');
            let done = Command::new(words.next()?).args(words).output().ok()?;
            done.status.success().then_some(())
        };
        shaped.iter().map(quietly).collect::<Option<()>>()?;
        Some(on_this_host(&params.with("size", "1400 B").with("patience", "5 s").with("duration", "2 s")))
    });
    let Some(outcome) = measured.join().expect("no panic") else {
        eprintln!("skipped: it takes root, and `ip` and `tc` of iproute2 with a token bucket");
        return;
    };
    // With 42 B of headers; a reply waits for as many tokens as the message has taken.
    let truth = 2.0 * 1442.0 * 8.0 / 1e6;
    let stages = outcome.stages.expect("asked for");
    let way = |way| taken(&stages, Band::P50, way, "queueing discipline");
    let found = way(Way::There) + way(Way::Back);
    assert!((found / truth - 1.0).abs() < 0.15, "{found} s, and the link takes {truth} s: {stages:?}");
    let others = sum(&stages, Band::P50) - found;
    assert!(others < 0.3 * truth, "others take {others} s: {stages:?}");
}

#[test]
fn stages_are_refused_where_there_are_no_packets() {
    for (name, value) in [("transport", "shared"), ("size", "16 B")] {
        let params = Params::default().with("transport", "udp").with("stages", true).with(name, value);
        let fault = Spec::from_params(&params).expect_err("refused");
        assert!(fault.to_string().contains("`stages`") && fault.remedy.is_some(), "{fault}");
    }
}
