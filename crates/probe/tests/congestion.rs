//! Congestion control and retransmissions of the bandwidth probe, as the kernel counts them.

use std::fs;
use std::process::Command;
use std::thread;

use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_host::namespace::{self, Kinds};
use crosstalk_host::sysctl;
use crosstalk_probe::bandwidth::{BANDWIDTH, Outcome, Spec, measure};

mod local;

fn short() -> Params {
    Params::default().with("duration", "200 ms")
}

fn measured(params: &Params) -> Result<Outcome, Fault> {
    let spec = Spec::from_params(params)?;
    let outcomes = local::on_this_host(|target, until| measure(target, &spec, until))?;
    Ok(outcomes.into_iter().next().expect("of one size"))
}

#[test]
fn the_system_decides_by_default_and_the_kernel_says_what_it_is() {
    let preferred = sysctl::read("net.ipv4.tcp_congestion_control").expect("Linux has one");
    let outcome = measured(&short()).expect("measures");
    assert_eq!(outcome.congestion.as_deref(), Some(preferred.as_str()));
    assert_eq!(outcome.receiver_congestion.as_deref(), Some(preferred.as_str()));
    assert!(outcome.retransmitted.is_some());
}

#[test]
fn sender_and_receiver_use_what_is_requested() {
    let available = sysctl::read("net.ipv4.tcp_available_congestion_control").expect("Linux has it");
    for name in available.split(' ') {
        for reverse in [false, true] {
            let outcome = match measured(&short().with("congestion", name).with("reverse", reverse)) {
                Err(fault) if fault.message.contains("only root may") => {
                    eprintln!("skipped: {name}: {fault}");
                    continue;
                }
                outcome => outcome.expect(name),
            };
            let used = [outcome.congestion.as_deref(), outcome.receiver_congestion.as_deref()];
            assert_eq!(used, [Some(name); 2], "reverse {reverse}");
            let readings = outcome.readings();
            for metric in ["bandwidth", "retransmitted"] {
                let reading = readings.iter().map(|(reading, _)| reading).find(|r| r.metric == metric);
                let label = reading.and_then(|reading| reading.labels.get("congestion"));
                assert_eq!(label.map(String::as_str), Some(name), "{metric}");
            }
        }
    }
}

#[test]
fn transports_without_segments_report_none() {
    let outcome = measured(&short().with("transport", "unix")).expect("measures");
    assert_eq!(
        (&outcome.congestion, &outcome.receiver_congestion, outcome.retransmitted),
        (&None, &None, None)
    );
    assert!(outcome.readings().iter().all(|(reading, _)| !reading.labels.contains_key("congestion")));
}

#[test]
fn what_the_kernel_lacks_is_refused_with_what_it_has() {
    let params = short().with("congestion", "no-such-control");
    for reverse in [false, true] {
        let fault = measured(&params.clone().with("reverse", reverse)).expect_err("is refused");
        assert_eq!((fault.kind, fault.parameter.as_deref()), (FaultKind::Environment, Some("congestion")));
        assert!(fault.message.contains("no-such-control"), "{fault}");
        assert!(fault.remedy.as_deref().is_some_and(|remedy| remedy.contains("reno")), "{fault}");
    }
    let unmet: Vec<_> = BANDWIDTH.needs(&params).into_iter().filter_map(|need| need.unmet()).collect();
    assert!(matches!(&unmet[..], [one] if one.what.contains("no-such-control")), "{unmet:?}");
    assert!(BANDWIDTH.needs(&short().with("congestion", "reno")).iter().all(|need| need.is_found()));
}

/// Runs a command without its output; `None` where it fails.
fn run(line: &str) -> Option<()> {
    let mut words = line.split(' ');
    Command::new(words.next()?).args(words).output().ok()?.status.success().then_some(())
}

/// Segments that all connections of this thread's network namespace have retransmitted (snmp, RFC 4022).
fn retransmitted_here() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").expect("Linux has it");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = lines.next().zip(lines.next()).expect("names and values");
    let of = names.split(' ').zip(values.split(' ')).find(|(name, _)| *name == "RetransSegs");
    of.expect("is counted").1.parse().expect("a number")
}

#[test]
fn retransmissions_are_those_that_the_kernel_counts_on_a_link_that_loses_segments() {
    let lossy = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            namespace::enter(Kinds::NET).ok()?;
            run("ip link set lo up")?;
            let large = "iptables -A INPUT -p tcp -m length --length 1000:65535";
            run(&format!("{large} -m statistic --mode nth --every 200 --packet 100 -j DROP"))?;
            let params = short().with("duration", "1 s").with("congestion", "reno");
            Some((measured(&params).expect("measures"), retransmitted_here()))
        });
        thread.join().expect("no panic")
    });
    let Some((outcome, counted)) = lossy else {
        eprintln!("skipped: it needs root, `ip`, and `iptables` with the match `statistic`");
        return;
    };
    // The kernel may send more again between the last write and the end of the connection.
    let reported = outcome.retransmitted.expect("is reported over TCP");
    assert!(reported > 0 && reported <= counted, "{reported} of {counted} segments");
    assert!(reported * 2 > counted, "{reported} of {counted} segments");
}
