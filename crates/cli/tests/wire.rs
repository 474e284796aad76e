//! `crosstalk probe wire`: the one-way time over a wire, with and without the kernel's sockets.

use crate::common::{command, crosstalk, kill, left_behind, stderr, stdout};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

fn probe(dir: &Path, settings: &[&str]) -> std::process::Output {
    let mut args = vec!["--json", "probe", "wire", "--set", "duration=200 ms"];
    settings.iter().for_each(|setting| args.extend(["--set", setting]));
    crosstalk(dir, &args)
}

/// Metric → reading.
fn readings(settings: &[&str]) -> impl Fn(&str) -> Option<Value> + use<> {
    let dir = tempfile::tempdir().expect("a directory");
    let output = probe(dir.path(), settings);
    assert_eq!(output.status.code(), Some(0), "{settings:?}: {}", stderr(&output));
    let reported: Value =
        serde_json::from_str(stdout(&output).lines().last().expect("a line")).expect("JSON");
    let list = reported["readings"].as_array().expect("readings").clone();
    move |metric| {
        let found = list.iter().find(|line| line["reading"]["metric"] == metric);
        found.cloned()
    }
}

/// Checks what holds on any machine, however many messages get through beside the other tests.
fn check_one_way(settings: &[&str]) {
    let found = readings(settings);
    let count = found("one_way").expect("is reported")["n"].as_u64().expect("a number");
    assert!(count > 0, "{settings:?}: {count} messages");
    let lost = found("lost").expect("is reported")["reading"]["value"].as_f64().expect("a share");
    assert!((0.0..1.0).contains(&lost), "{settings:?}: {lost} lost");
    let cost = found("own_overhead").expect("is reported")["reading"]["value"].as_f64().expect("a time");
    assert!(cost > 0.0 && cost < 0.2, "{cost}");
    // More than nothing, and at most the time to wait for a message.
    let median = median(&found("one_way").expect("is reported")["reading"]["histogram"]["counts"]);
    assert!((1.0..1e9).contains(&median), "{settings:?}: {median} ns");
}

/// The median of (value, count), ascending.
fn median(counts: &Value) -> f64 {
    let counts: Vec<(f64, f64)> = serde_json::from_value(counts.clone()).expect("pairs");
    let mut left = counts.iter().map(|(_, count)| count).sum::<f64>() / 2.0;
    let middle = counts.iter().find(|(_, count)| {
        left -= count;
        left <= 0.0
    });
    middle.expect("is not empty").0
}

fn is_root() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !root {
        eprintln!("skipped: a wire is made by root");
    }
    root
}

fn has_dpdk() -> bool {
    let found = Command::new("pkg-config").args(["--exists", "libdpdk"]).status().is_ok_and(|s| s.success());
    if !found {
        eprintln!("skipped: DPDK is not installed here (libdpdk-dev)");
    }
    found
}

#[test]
fn memory_needs_no_privileges() {
    for mode in ["mode=polling", "mode=blocking"] {
        check_one_way(&["transport=shared", mode, "ends=two-processes", "size=1024"]);
    }
    check_one_way(&["transport=shared", "mode=polling", "ends=one-thread"]);
}

#[test]
fn kernel_sockets_use_the_wire() {
    if !is_root() {
        return;
    }
    for ends in ["ends=one-thread", "ends=two-processes"] {
        for mode in ["mode=polling", "mode=blocking"] {
            check_one_way(&["transport=udp", ends, mode]);
        }
    }
}

#[test]
fn af_xdp_uses_the_wire() {
    if !is_root() {
        return;
    }
    check_one_way(&["transport=af-xdp", "mode=polling", "ends=one-thread"]);
    check_one_way(&["transport=af-xdp", "mode=polling", "ends=two-processes", "size=1514"]);
    check_one_way(&["transport=af-xdp", "mode=blocking", "ends=two-processes"]);
}

#[test]
fn dpdk_uses_the_wire_with_each_driver() {
    if !is_root() || !has_dpdk() {
        return;
    }
    for transport in ["transport=dpdk-af-packet", "transport=dpdk-af-xdp", "transport=dpdk-memif"] {
        check_one_way(&[transport, "ends=one-thread"]);
        check_one_way(&[transport, "ends=two-processes", "size=1024"]);
    }
}

#[test]
fn an_endpoint_ends_soon_after_the_other_one() {
    if !has_dpdk() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    // A size that distinguishes its endpoints from those of other tests.
    let size = "777";
    let args = ["probe", "wire", "--set", "transport=dpdk-memif", "--set", "duration=5 s", "--set"];
    let mut probe = command(dir.path(), &args);
    let child = probe.arg(format!("size={size}")).spawn().expect("starts");
    let ends = |role: &str| {
        let found = Command::new("pgrep").args(["-f", &format!("{role} {size} ")]).output().expect("pgrep");
        String::from_utf8_lossy(&found.stdout)
            .lines()
            .filter_map(|pid| pid.parse().ok())
            .collect::<Vec<u32>>()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while ends("asks").is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    // By then they are connected, and messages are on their way.
    std::thread::sleep(Duration::from_millis(1500));
    let answering = ends("answers");
    assert_eq!(answering.len(), 1, "{answering:?}");
    let killed = Instant::now();
    kill("-KILL", answering[0]);
    let output = child.wait_with_output().expect("ends");
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("an endpoint of the wire"), "{}", stderr(&output));
}

#[test]
fn a_stream_has_a_rate() {
    if !is_root() {
        return;
    }
    let mut transports = vec!["transport=udp", "transport=af-xdp"];
    if has_dpdk() {
        transports.push("transport=dpdk-af-packet");
    }
    for transport in transports {
        let found = readings(&[transport, "mode=polling", "measure=bandwidth", "size=1024"]);
        let number =
            |name: &str| found(name).expect("is reported")["reading"]["value"].as_f64().expect("a number");
        let (rate, bandwidth) = (number("frame_rate"), number("bandwidth"));
        assert!(rate > 0.0 && (bandwidth / (rate * 8192.0) - 1.0).abs() < 1e-9, "{transport}: {rate}");
        assert!((0.0..1.0).contains(&number("lost")), "{transport}: {}", number("lost"));
    }
}

#[test]
fn stages_add_up_to_the_one_way_time() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let output = probe(dir.path(), &["mode=polling", "ends=one-thread", "stages=true"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    let reported: Value = serde_json::from_str(shown.lines().last().expect("a line")).expect("JSON");
    let list = reported["readings"].as_array().expect("readings");
    let of_all: Vec<&Value> = list
        .iter()
        .map(|line| &line["reading"])
        .filter(|r| r["metric"] == "stage_time" && r["labels"]["band"] == "all")
        .collect();
    assert_eq!(of_all.len(), 3, "{shown}");
    let sum: f64 = of_all.iter().filter_map(|r| r["value"].as_f64()).sum();
    let one_way = list.iter().find(|line| line["reading"]["metric"] == "one_way").expect("is reported");
    let counts: Vec<(f64, f64)> =
        serde_json::from_value(one_way["reading"]["histogram"]["counts"].clone()).expect("pairs");
    let all: f64 = counts.iter().map(|(_, count)| count).sum();
    let mean = counts.iter().map(|(value, count)| value * count).sum::<f64>() / all * 1e-9;
    // As precise as the histogram's bins.
    assert!((sum / mean - 1.0).abs() < 0.03, "{sum} s of {mean} s");
}

#[test]
fn by_default_all_datapaths_are_measured_in_rounds() {
    if !is_root() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let settings = ["--set", "ends=one-thread", "--set", "duration=20 ms"];
    let output = crosstalk(dir.path(), &[&["--json", "probe", "wire"], &settings[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, events) = lines.split_last().expect("a line");
    let ways = last["ways"].as_array().expect("ways");
    assert_eq!(ways.len(), 5, "{last}");
    let timed: Vec<&Value> = ways.iter().filter(|way| way["p50"].is_number()).collect();
    assert!(timed.len() >= 2, "the kernel's sockets are there: {last}");
    for way in ways.iter().filter(|way| way["p50"].is_null()) {
        assert!(way["missing"].is_string(), "{way}");
    }
    // Each round has all of them, in the same order.
    let order: Vec<&Value> = events.iter().map(|event| &event["way"]).collect();
    let round: Vec<&Value> = timed.iter().map(|way| &way["way"]).collect();
    assert_eq!(order, [&round[..], &round[..], &round[..]].concat());
}

#[test]
fn impossible_settings_are_refused_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    for (settings, says) in [
        (&["transport=dpdk-af-xdp", "mode=blocking"] as &[&str], "mode = \"polling\""),
        (&["size=63"], "64 to 1514 bytes, found 63"),
        (&["size=1515"], "64 to 1514 bytes, found 1515"),
        (&["transport=dpkd"], "dpdk"),
        (&["ends=three"], "one-thread"),
        (&["wait=poll"], "mode"),
        (&["measure=bandwidth", "ends=one-thread"], "ends = \"two-processes\""),
        (&["measure=bandwidth", "transport=shared"], "probe bandwidth --transport shared"),
        (&["stages=true"], "ends = \"one-thread\""),
    ] {
        let output = probe(dir.path(), settings);
        assert_eq!(output.status.code(), Some(2), "{settings:?}: {}", stderr(&output));
        let said = [stdout(&output), stderr(&output)].concat();
        assert!(said.contains(says), "{settings:?}: {said}");
    }
}

#[test]
fn nothing_is_left_after_a_kill() {
    if !is_root() {
        return;
    }
    let mut transports = vec!["udp", "af-xdp"];
    if has_dpdk() {
        transports.extend(["dpdk-af-packet", "dpdk-memif"]);
    }
    for transport in transports {
        killed(transport);
    }
    assert!(!Path::new("/run/dpdk/rte").exists(), "DPDK leaves a folder");
}

fn killed(transport: &str) {
    let dir = tempfile::tempdir().expect("a directory");
    let mark = format!("CROSSTALK_WIRE_TEST={}-{transport}", std::process::id());
    let (name, value) = mark.split_once('=').expect("has one");
    let transport = format!("transport={transport}");
    let args = ["probe", "wire", "--set", "mode=polling", "--set", &transport, "--set", "duration=60 s"];
    let mut child = command(dir.path(), &args).env(name, value).spawn().expect("starts");
    let until = Instant::now() + Duration::from_secs(30);
    // Endpoints of this program, or of the one in C, which runs from memory.
    let is_end = |line: &&String| line.trim_end().ends_with(" end") || line.contains("/fd/");
    let ends = || left_behind(&mark).iter().filter(is_end).count();
    while ends() < 2 {
        assert!(Instant::now() < until, "the ends do not start: {:?}", left_behind(&mark));
        std::thread::sleep(Duration::from_millis(20));
    }
    kill("-KILL", child.id());
    child.wait().expect("ends");
    while !left_behind(&mark).is_empty() {
        assert!(Instant::now() < until, "left behind: {:?}", left_behind(&mark));
        std::thread::sleep(Duration::from_millis(20));
    }
}
