//! `crosstalk path`: latencies from components.

use crate::common::{crosstalk, stderr, stdout};
use serde_json::Value;

fn path(args: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &[&["path"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn reported(args: &[&str]) -> Value {
    let text = path(&[args, &["--json"]].concat());
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

#[test]
fn the_published_example_adds_up_and_the_rest_is_unexplained() {
    let shown = path(&["pcie-fabric"]);
    assert!(shown.starts_with("PCI Express fabric: 720 ns to 1.10 µs\n"), "{shown}");
    assert!(shown.contains("  cable, 5.00 m") && shown.contains("130 ns to 150 ns"), "{shown}");
    assert!(shown.contains("the components explain its lower end"), "{shown}");
    assert!(shown.contains("leave 400 ns (26.7 %) of its upper end unexplained"), "{shown}");
    let reported = reported(&["pcie-fabric"]);
    assert_eq!(reported["origin"], "computed");
    assert!((reported["seconds"]["low"].as_f64().expect("a time") - 720e-9).abs() < 1e-15, "{reported}");
    assert_eq!(reported["hops"].as_array().map(Vec::len), Some(5));
}

#[test]
fn the_stages_of_a_packet_on_dpdk_leave_as_much_unexplained_as_published() {
    let reported = reported(&["ethernet-10g-dpdk"]);
    let (sum, all) = (&reported["seconds"]["low"], &reported["published"]["low"]);
    let open = 1.0 - sum.as_f64().expect("a time") / all.as_f64().expect("a time");
    assert!((open - 0.62).abs() < 0.005, "{open}: the publication leaves 62 % unexplained");
}

#[test]
fn every_interconnect_is_listed_with_its_published_latency() {
    let shown = path(&[]);
    let row = |name: &str| shown.lines().find(|line| line.split(' ').next() == Some(name)).expect("a row");
    assert!(row("qpi").ends_with("30.0 ns to 35.0 ns"), "{shown}");
    assert!(row("ethernet-10g").contains("780 ns and up") && row("ethernet-10g").ends_with("2.03 µs and up"));
    assert!(row("tia-942-ethernet").ends_with('–'), "{shown}");
}

#[test]
fn a_path_of_ones_own_with_a_time_of_ones_own() {
    let words = ["memory-to-nic", "cable 40 m", "memory-to-nic"];
    assert!(path(&words).starts_with("the path: 740 ns to 1.10 µs"));
    let with = ["--with", "memory-to-nic=0.2 us..300 ns"];
    let shown = path(&[&words[..], &with].concat());
    assert!(shown.starts_with("the path: 600 ns to 800 ns") && shown.contains("(given)"), "{shown}");
}

#[test]
fn size_and_utilisation_add_the_times_of_their_formulas() {
    // 1,250 B at 10 Gbit/s take 1 µs; five cut-through switches at 50 % add half of that each.
    let reported = reported(&["tia-942-ethernet", "--size", "1250 B", "--utilisation", "50 %"]);
    assert_eq!(reported["origin"], "predicted");
    let seconds = |key: &str| reported[key].as_f64().expect("a time");
    assert!(
        (seconds("serialising") - 1e-6).abs() < 1e-15 && (seconds("queueing") - 2.5e-6).abs() < 1e-15,
        "{reported}"
    );
}

#[test]
fn a_wrong_path_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, says) in [
        (&["pcie-fabrik"] as &[&str], "did you mean `pcie-fabric`?"),
        (&["cable"], "write for example \"cable 5 m\""),
        (&["qpi-hop", "cabel 5 m"], "did you mean `cable`?"),
        (&["qpi-hop 5 m"], "is no cable"),
        (&["qpi-hop", "--size", "64 B"], "--rate '10 Gbit/s'"),
        (&["qpi", "--utilisation", "70 %"], "--size '1500 B'"),
        (&["qpi", "--size", "64 B", "--utilisation", "100 %"], "below 100 %"),
        (&["qpi", "--size", "64 B", "--rate", "0 bit/s"], "above zero"),
        (&["qpi", "--with", "qpi-hop"], "NAME=TIME"),
        (&["qpi", "--with", "qpi-hop=3 ns..2 ns"], "NAME=LOW..HIGH"),
        (&["qpi", "--with", "qip-hop=3 ns"], "did you mean `qpi-hop`?"),
    ] {
        let output = crosstalk(dir.path(), &[&["path"], args].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn a_component_that_show_prints_can_be_copied_and_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = stdout(&crosstalk(dir.path(), &["show", "infiniband-switch"]));
    std::fs::create_dir_all(dir.path().join("my/components")).expect("a folder");
    let faster = shown.replace("100 ns\"", "90 ns\"");
    assert_ne!(shown, faster, "{shown}");
    std::fs::write(dir.path().join("my/components/mine.toml"), faster).expect("writes");
    let output = crosstalk(dir.path(), &["path", "infiniband-fdr-x4", "--catalogue", "my"]);
    assert!(stdout(&output).starts_with("InfiniBand FDR x4: 680 ns"), "{}", stdout(&output));
}

/// A probe's result in a file.
fn probed(dir: &std::path::Path) {
    let args = ["probe", "memory", "--set", "size=268435456", "--set", "duration=5 ms", "--json"];
    let output = crosstalk(dir, &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    std::fs::write(dir.join("memory.json"), output.stdout).expect("writes");
}

#[test]
fn a_measured_time_replaces_that_of_its_component() {
    let dir = tempfile::tempdir().expect("a directory");
    probed(dir.path());
    let args = ["path", "cpu-to-memory", "qpi-hop", "--measured", "memory.json"];
    let shown = stdout(&crosstalk(dir.path(), &args));
    let row = |name: &str| shown.lines().find(|line| line.trim().starts_with(name)).expect("a row");
    assert!(
        row("CPU to memory").ends_with("(measured)") && row("QPI hop").ends_with("(catalogued)"),
        "{shown}"
    );
    assert!(shown.contains("cpu-to-memory is measured: load_time[size=268435456] of memory.json"), "{shown}");
    assert!(shown.contains("the sum mixes measured and other times"), "{shown}");

    let json = stdout(&crosstalk(dir.path(), &[&args[..], &["--json"]].concat()));
    let reported: Value = serde_json::from_str(json.lines().last().expect("a line")).expect("JSON");
    let result: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("memory.json")).expect("reads"))
            .expect("one line of JSON");
    let reading = &result["readings"][0]["reading"];
    assert_eq!(
        (&reading["metric"], &reported["hops"][0]["seconds"]["low"]),
        (&"load_time".into(), &reading["value"])
    );
    assert_eq!(reported["parts"], serde_json::json!(["catalogued", "measured"]));
    assert_eq!(reported["hops"][0]["measured"]["from"], "memory.json");

    // A catalogued path with a measured component says that it is measured in part.
    let all = stdout(&crosstalk(dir.path(), &["path", "--measured", "memory.json"]));
    assert!(!all.contains("measured in part"), "none of them does: {all}");
}

#[test]
fn a_time_from_a_run_is_the_median_over_its_attempts() {
    let dir = tempfile::tempdir().expect("a directory");
    let study = r#"
        schema = "crosstalk.study/1"
        title = "Memory"
        looks = [3]
        [experiment.memory]
        work.load = { kind = "memory", size = "$size", duration = "2 ms", node = 0 }
        factors = { size = ["16 KiB", "1 MiB"] }
    "#;
    std::fs::write(dir.path().join("m.toml"), study).expect("writes");
    let run = crosstalk(dir.path(), &["run", "./m.toml", "--testbed", "local", "--out", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let shown = |put: &str| {
        let args = ["path", "cpu-to-memory", "--measured", "out", "--put", put];
        stdout(&crosstalk(dir.path(), &args))
    };
    // As many as attempts have measured it: of six, on a busy machine one may fail.
    let journal = std::fs::read_to_string(dir.path().join("out/journal.ndjson")).expect("a journal");
    let samples = |words: &[&str]| {
        let has = |line: &&str| {
            ["\"line\":\"sample\"", "\"load_time\""].iter().chain(words).all(|word| line.contains(word))
        };
        journal.lines().filter(has).count()
    };
    let (small, all) = (samples(&["\"16384\""]), samples(&[]));
    assert!(small > 0 && small < all && all <= 6, "{small} of {all}");
    let one = shown("cpu-to-memory=load_time[size=16384]");
    assert!(one.contains(&format!("of out ({small} values)")) && !one.contains("mixed"), "{one}");
    let both = shown("cpu-to-memory=load_time");
    let count = format!("({all} values)");
    assert!(both.contains(&count) && both.contains(" to "), "from the one size to the other: {both}");
}

#[test]
fn a_missing_measurement_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    probed(dir.path());
    std::fs::write(dir.path().join("no.json"), "{}").expect("writes");
    let measured = ["--measured", "memory.json"];
    for (args, says) in [
        (&["--measured", "nowhere.json"] as &[&str], "cannot read it"),
        (&["--measured", "no.json"], "crosstalk probe memory --json > memory.json"),
        (&["--put", "qpi-hop=load_time"], "--measured"),
        (&["--put", "qpi-hop", measured[0], measured[1]], "NAME=METRIC"),
        (&["--put", "qpi-hop=load_tim", measured[0], measured[1]], "did you mean `load_time`?"),
        (&["--put", "qpi-hop=huge_pages", measured[0], measured[1]], "is no time"),
        (&["--put", "qip-hop=load_time", measured[0], measured[1]], "did you mean `qpi-hop`?"),
        (&["--with", "cpu-to-memory=9 ns", measured[0], measured[1]], "is measured, too"),
        (&[measured[0], measured[1], measured[0], measured[1]], "name only one of them"),
    ] {
        let output = crosstalk(dir.path(), &[&["path", "qpi-hop"], args].concat());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
}
