//! `crosstalk probe` between client and server, as users of iperf3, sockperf and fio expect it.

mod common;

use common::{command, crosstalk, finish, kill, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server, which ends with the value.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    /// `None` if the port is taken.
    fn at(dir: &Path, address: &[&str]) -> Option<Self> {
        let mut child = command(dir, &[&["probe", "latency", "--listen"], address].concat());
        let mut child = child.stderr(Stdio::inherit()).spawn().expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("is reported");
        let address = line.strip_prefix("serving at ").and_then(|rest| rest.split(' ').next());
        match address.map(str::to_string) {
            Some(address) => Some(Serving { child, address }),
            None => {
                child.wait().expect("ends");
                None
            }
        }
    }

    fn here(dir: &Path) -> Self {
        Serving::at(dir, &["127.0.0.1:0"]).expect("serves")
    }

    /// The output of `crosstalk probe ARGS --to HERE --json`.
    fn measured(&self, dir: &Path, args: &[&str]) -> ProbeOutput {
        let output = crosstalk(dir, &[&["probe"], args, &["--to", &self.address, "--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
        ProbeOutput::new(&stdout(&output))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The JSON of a probe.
struct ProbeOutput {
    events: Vec<Value>,
    last: Value,
}

impl ProbeOutput {
    fn new(text: &str) -> Self {
        let mut lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = lines.pop().expect("a line");
        ProbeOutput { events: lines, last }
    }

    fn of(&self, metric: &str) -> &Value {
        let readings = self.last["readings"].as_array().expect("readings");
        let found = readings.iter().find(|line| line["reading"]["metric"] == metric);
        found.unwrap_or_else(|| panic!("no `{metric}` in {}", self.last))
    }

    fn number(&self, metric: &str) -> f64 {
        self.of(metric)["reading"]["value"].as_f64().expect("a number")
    }
}

#[test]
fn offered_and_received_bandwidth_agree_for_large_writes() {
    let dir = tempfile::tempdir().expect("a directory");
    let reported =
        Serving::here(dir.path()).measured(dir.path(), &["bandwidth", "-l", "512 MiB", "-t", "0.3"]);
    let ratio = reported.number("offered") / reported.number("bandwidth");
    // They differ only by what buffers hold at the end.
    assert!((0.6..1.7).contains(&ratio), "offered / received: {ratio}");
}

#[test]
fn datagrams_are_sent_received_lost_or_not_sent() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    let reported = serving
        .measured(dir.path(), &["load", "--transport", "udp", "-l", "65507", "-r", "100000", "-t", "0.3"]);
    let (sent, received) = (reported.number("sent"), reported.number("received"));
    assert_eq!(sent + reported.number("not_sent"), 30_000.0);
    assert!(received <= sent && sent > 0.0, "{received} of {sent}");
    assert!((reported.number("lost") - (1.0 - received / sent)).abs() < 1e-9);

    let args = ["bandwidth", "--transport", "udp", "-l", "65507", "-b", "100M", "-t", "0.3"];
    let reported = serving.measured(dir.path(), &args);
    let (sent, received) = (reported.number("sent"), reported.number("received"));
    // 100 Mbit/s for 0.3 s are 57.2 datagrams: the 58th is started.
    assert!((57.0..=58.0).contains(&(sent + reported.number("not_sent"))), "{sent} sent");
    assert!(received <= sent && received > 0.0, "{received} of {sent}");
    assert!((reported.number("lost") - (1.0 - received / sent)).abs() < 1e-9);
}

#[test]
fn ten_messages_a_second_are_a_rate() {
    let dir = tempfile::tempdir().expect("a directory");
    let reported = Serving::here(dir.path()).measured(dir.path(), &["load", "--rate", "10", "--time", "1 s"]);
    assert_eq!((reported.number("sent"), reported.number("received")), (10.0, 10.0));
}

#[test]
fn parallel_streams_run_in_both_directions_and_report_intervals() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    for reverse in [&[] as &[&str], &["-R"]] {
        let args = [&["bandwidth", "-P", "3", "-t", "0.6", "-i", "0.2", "-C", "reno"], reverse].concat();
        let reported = serving.measured(dir.path(), &args);
        assert!(reported.events.len() >= 2, "{:?}", reported.events);
        assert!(reported.events.iter().all(|e| e["event"] == "interval" && e["bandwidth"].is_number()));
        let begins: Vec<f64> = reported.events.iter().filter_map(|e| e["begin"].as_f64()).collect();
        assert!(begins[0] == 0.0 && begins.windows(2).all(|two| two[0] < two[1]), "{begins:?}");
        let labels = &reported.of("bandwidth")["reading"]["labels"];
        assert_eq!(labels["streams"], "3");
        assert_eq!(labels["direction"] == "reverse", !reverse.is_empty(), "{labels}");
        for label in ["congestion", "receiver_congestion"] {
            assert_eq!(labels[label], "reno", "{labels}");
        }
        assert_eq!(reported.of("retransmitted")["reading"]["labels"]["congestion"], "reno");
        assert!(reported.number("bandwidth") > 0.0 && reported.number("retransmitted") >= 0.0);
    }
    let udp =
        serving.measured(dir.path(), &["bandwidth", "--transport", "udp", "-P", "2", "-R", "-t", "0.2"]);
    assert!(udp.number("received") > 0.0 && udp.number("received") <= udp.number("sent"));
    let paced = serving.measured(dir.path(), &["bandwidth", "-P", "2", "-b", "20M", "-t", "0.5"]);
    assert!((0.7..1.1).contains(&(paced.number("offered") / 40e6)), "{}", paced.number("offered"));
}

#[test]
fn intervals_are_printed_while_the_probe_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    let args = ["probe", "bandwidth", "--to", &serving.address, "-t", "3", "-i", "0.1"];
    let mut child = command(dir.path(), &args).spawn().expect("starts");
    let mut lines = BufReader::new(child.stdout.as_mut().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("reads");
    assert!(first.contains("0.00–") && first.contains("bit/s"), "{first}");
    drop(lines);
    assert!(child.try_wait().expect("waits").is_none(), "the line came at the end");
    kill("-KILL", child.id());
    child.wait().expect("ends");
}

#[test]
fn the_port_has_a_default_and_ipv4_reaches_a_server_on_all_addresses() {
    let dir = tempfile::tempdir().expect("a directory");
    let Some(_serving) = Serving::at(dir.path(), &[]) else {
        eprintln!("skipped: port 7700 is taken");
        return;
    };
    for transport in ["tcp", "udp"] {
        let args = ["probe", "latency", "--to", "127.0.0.1", "--transport", transport, "-t", "0.2", "--json"];
        let output = crosstalk(dir.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let reported = ProbeOutput::new(&stdout(&output));
        let p50 = &reported.of("round_trip")["percentiles"]["p50"];
        let number = |name: &str| p50[name].as_f64().expect("a number");
        assert!(number("low") <= number("value") && number("value") <= number("high"), "{p50}");
        assert!(reported.of("round_trip")["max"].as_f64().expect("one") >= number("high"));
    }
}

#[test]
fn numbers_are_written_to_files() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    let files = ["--export-csv", "x.csv", "--export-json", "x.json", "--export-markdown", "x.md"];
    let args = [&["latency", "-t", "0.1"] as &[&str], &files].concat();
    serving.measured(dir.path(), &args);
    for file in ["x.csv", "x.json", "x.md"] {
        let text = std::fs::read_to_string(dir.path().join(file)).expect("is there");
        assert!(text.contains("round_trip") && text.contains("probe latency"), "{file}: {text}");
    }
    let nowhere = ["probe", "latency", "--to", "127.0.0.1:1", "--export-csv", "nowhere/x.csv"];
    let refused = crosstalk(dir.path(), &nowhere);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn neither_a_served_nor_a_silent_client_blocks_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    let _silent: Vec<TcpStream> =
        (0..3).map(|_| TcpStream::connect(&serving.address).expect("connects")).collect();
    let mut greeted = TcpStream::connect(&serving.address).expect("connects");
    greeted.write_all(b"{\"ask\":\"hello\",\"version\":5}\n").expect("greets");
    let mut answer = String::new();
    BufReader::new(&greeted).read_line(&mut answer).expect("is answered");
    assert!(answer.contains("\"hello\""), "{answer}");

    let args = ["probe", "latency", "--to", &serving.address, "-t", "0.1"];
    let busy = crosstalk(dir.path(), &args);
    assert_eq!(busy.status.code(), Some(4), "{}", stdout(&busy));
    assert!(
        stderr(&busy).contains("busy") && stderr(&busy).contains("try again in about"),
        "{}",
        stderr(&busy)
    );
    drop(greeted);
    serving.measured(dir.path(), &["latency", "-t", "0.1"]);

    // The server closes the connection of a stopped client after a short time.
    let long = ["probe", "bandwidth", "--to", &serving.address, "-t", "60", "-i", "0.1"];
    let mut stopped = command(dir.path(), &long).spawn().expect("starts");
    let mut line = String::new();
    BufReader::new(stopped.stdout.as_mut().expect("piped")).read_line(&mut line).expect("is reported");
    kill("-STOP", stopped.id());
    let begin = Instant::now();
    while !crosstalk(dir.path(), &args).status.success() {
        assert!(begin.elapsed() < Duration::from_secs(20), "still busy after {:?}", begin.elapsed());
    }
    kill("-KILL", stopped.id());
    stopped.wait().expect("ends");
}

/// `crosstalk ARGS` on one processor; `None` if that is not possible.
fn on_one(dir: &Path, args: &[&str]) -> Option<std::process::Output> {
    let mut taskset = Command::new("taskset");
    taskset.args(["-c", "0", env!("CARGO_BIN_EXE_crosstalk")]).args(args).current_dir(dir);
    let child = taskset.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let output = child.ok().map(finish)?;
    let failed = stderr(&output).contains("taskset");
    (!failed || stderr(&output).contains("processors")).then_some(output)
}

#[test]
fn polling_on_both_sides_is_refused_on_one_processor() {
    let dir = tempfile::tempdir().expect("a directory");
    for args in [&["probe", "latency", "--poll"] as &[&str], &["probe", "load", "--poll"], &["probe", "wire"]]
    {
        let Some(output) = on_one(dir.path(), args) else {
            eprintln!("skipped: no taskset to processor 0 here");
            return;
        };
        assert_eq!(output.status.code(), Some(4), "{args:?}: {}", stdout(&output));
        let said = stderr(&output);
        assert!(said.contains("need a processor each") && said.contains("try:"), "{args:?}: {said}");
    }
    let doctor = on_one(dir.path(), &["doctor", "--no-load"]).expect("runs");
    assert!(stdout(&doctor).contains("miss two processors to poll on"), "{}", stdout(&doctor));

    let serving = Serving::here(dir.path());
    let args = ["probe", "latency", "--to", &serving.address, "--poll", "--pin", "0,0"];
    let pinned = crosstalk(dir.path(), &args);
    assert_eq!(pinned.status.code(), Some(2), "{}", stdout(&pinned));
    assert!(stderr(&pinned).contains("`pin`"), "{}", stderr(&pinned));
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_refused_with_those_that_it_has() {
    let dir = tempfile::tempdir().expect("a directory");
    let serving = Serving::here(dir.path());
    let args = ["probe", "bandwidth", "-C", "no-such-control"];
    for direction in [&["--to", &serving.address] as &[&str], &["--to", &serving.address, "-R"], &[]] {
        let output = crosstalk(dir.path(), &[&args, direction].concat());
        assert_eq!(output.status.code(), Some(4), "{direction:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("no congestion control \"no-such-control\""), "{direction:?}: {said}");
        assert!(said.contains("take one of: ") && said.contains("reno"), "{direction:?}: {said}");
    }
}

#[test]
fn impossible_settings_are_refused_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, says) in [
        (&["bandwidth", "-P", "0"] as &[&str], "at least 1"),
        (&["bandwidth", "-P", "1000"], "at most 128"),
        (&["bandwidth", "-i", "1 ms"], "at least 0.1 s"),
        (&["bandwidth", "-b", "0"], "above zero"),
        (&["bandwidth", "-b", "fast"], "2.5 Gbit/s"),
        (&["bandwidth", "-C", "reno", "--transport", "udp"], "no congestion control"),
        (&["bandwidth", "-N", "--transport", "unix"], "no delay by Nagle"),
        (&["bandwidth", "--transport", "udp", "-l", "65508"], "65507"),
        // A domain above ffff is valid, but this host has none.
        (&["pcie", "--set", "device=10000:00:1f.0"], "there is no PCI device"),
    ] {
        let output = crosstalk(dir.path(), &[&["probe"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{args:?}: {}", stderr(&output));
    }
}
