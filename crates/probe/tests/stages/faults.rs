//! A delay of 400 µs to 1 ms appears in its stage, and in no other.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crosstalk_core::value::Params;
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_observe::stages::Direction;
use crosstalk_probe::band::Band;
use crosstalk_probe::latency::Stages;

use super::slow_server::{Delay, SlowServer};
use super::{alone, band_of, followed, on_this_host};

/// Delays, in microseconds.
const DELAYS: [u64; 3] = [400, 700, 1000];
/// How far a stage may be from the delay, and how much longer every other stage may be than without
/// it, as shares of the delay.
const ELSEWHERE: f64 = 0.25;
/// On a busy machine, other work delays stages, too: one of so many tries must be clean.
const TRIES: usize = 10;

/// Checks that `delay` seconds are in the stages with this name, in these directions, and in no other.
fn only_in(
    with: &Stages,
    without: &Stages,
    (ways, name): (&[Direction], &str),
    delay: f64,
) -> Result<(), String> {
    let bands = band_of(with, Band::P50).zip(band_of(without, Band::P50));
    let Some((with, without)) = bands else { return Err("too few messages were followed".into()) };
    let mut found = 0.0;
    for (now, before) in with.iter().zip(without) {
        assert_eq!((now.0, now.1), (before.0, before.1));
        let more = now.2 - before.2;
        if ways.contains(&now.0) && now.1 == name {
            found += more;
        } else if more > ELSEWHERE * delay {
            return Err(format!("{delay} s were put in, and {:?} `{}` is longer by {more} s", now.0, now.1));
        }
    }
    match (found / delay - 1.0).abs() < ELSEWHERE {
        true => Ok(()),
        false => Err(format!("{delay} s were put in, and `{name}` is longer by {found} s")),
    }
}

fn tries(check: impl Fn() -> Result<(), String>) {
    let mut failures = Vec::new();
    while let Err(failure) = check() {
        failures.push(failure);
        assert!(failures.len() < TRIES, "{failures:#?}");
    }
}

/// Checks every delay of a server against the same server without one.
fn is_found(delay: fn(Duration) -> Delay, without: Delay, stage: (&[Direction], &str)) {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let params = params.with("duration", "200 ms");
    for time in DELAYS.map(Duration::from_micros) {
        tries(|| {
            let (_, without) = SlowServer { delay: without, ..SlowServer::default() }.measure(&params);
            let server = SlowServer { delay: delay(time), ..SlowServer::default() };
            let (_, with) = server.measure(&params);
            only_in(&with, &without, stage, server.median_delay())
        });
    }
}

#[test]
fn a_receiver_that_sleeps_leaves_messages_in_its_socket() {
    is_found(Delay::BeforeRead, Delay::Nowhere, (&[Direction::There], "socket queue"));
}

#[test]
fn a_slow_application_is_not_the_system() {
    is_found(Delay::BeforeReply, Delay::Nowhere, (&[Direction::Back], "application"));
}

/// Runs a command without its output; `None` where it fails.
fn run(line: &str) -> Option<()> {
    let mut words = line.split(' ');
    Command::new(words.next()?).args(words).output().ok()?.status.success().then_some(())
}

/// Stages without and with a token bucket, in a network namespace that ends with the thread.
fn shaped(params: &Params) -> Option<(Stages, Stages)> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            namespace::enter(Kinds::NET).ok()?;
            run("ip link set lo up")?;
            let without = on_this_host(params).stages;
            run("tc qdisc add dev lo root tbf rate 12mbit burst 1600 limit 100000")?;
            without.zip(on_this_host(params).stages)
        });
        thread.join().expect("no panic")
    })
}

#[test]
fn a_slow_link_delays_in_the_queueing_discipline() {
    let _alone = alone();
    let Some(params) = followed("udp") else { return };
    let params = params.with("size", "1400 B").with("patience", "5 s").with("duration", "500 ms");
    // With 42 B of headers; a reply waits for as many tokens as the message has used.
    let delay = 2.0 * 1442.0 * 8.0 / 12e6;
    tries(|| match shaped(&params) {
        Some((without, with)) => {
            only_in(&with, &without, (&[Direction::There, Direction::Back], "queueing discipline"), delay)
        }
        None => {
            eprintln!("skipped: it needs root, and `ip` and `tc` of iproute2 with a token bucket");
            Ok(())
        }
    });
}
