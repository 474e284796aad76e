//! The contract of the command line: help with examples, exit codes, faults with place and remedy, JSON whose last line
//! is the result.

use crate::common::{command, crosstalk, stderr, stdout};

/// Arguments, what stderr must say, exit code.
type Bad = (&'static [&'static str], &'static [&'static str], i32);

#[test]
fn every_verb_has_help_with_an_example() {
    let dir = tempfile::tempdir().expect("a directory");
    for verb in ["run", "resume", "plan", "list", "show", "data", "probe", "report", "doctor", "clean"] {
        let output = crosstalk(dir.path(), &[verb, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{verb}");
        let text = stdout(&output);
        assert!(text.contains("Example"), "{verb} --help has an example");
        assert!(text.contains(&format!("crosstalk {verb}")), "{verb} --help shows itself");
        assert!(text.contains("--json"), "{verb} takes --json");
    }
}

/// Text breaks only before a word that does not fit.
#[test]
fn help_wraps_only_at_the_terminal_s_width() {
    let dir = tempfile::tempdir().expect("a directory");
    let help = |verb: &str, width: usize| {
        let mut help = command(dir.path(), &[verb, "--help"]);
        stdout(&help.env("COLUMNS", width.to_string()).output().expect("runs"))
    };
    for verb in ["run", "path", "trace", "exec", "guard", "doctor", "boinc-project"] {
        for width in [64, 80, 100] {
            let text = help(verb, width);
            let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
            for (line, next) in text.lines().zip(text.lines().skip(1)) {
                let word = next.split(' ').next().unwrap_or_default();
                let fits = line.chars().count() + 1 + word.chars().count() <= width;
                assert!(!(is_text(line) && is_text(next) && fits), "{verb} at {width}: {line}\n{next}");
            }
        }
    }
    for verb in ["exec", "guard", "doctor", "boinc-project"] {
        let wide = help(verb, 100);
        let (_, examples) = wide.split_once("Examples:\n").expect("has some");
        let (examples, _) = examples.split_once("\n\n").expect("and more");
        assert!(help(verb, 80).contains(examples), "{verb}'s examples fit a narrow terminal");
    }
}

#[test]
fn a_wrong_command_line_exits_with_2_and_names_place_and_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let cases: &[Bad] = &[
        (&["run"], &["nothing to run", "crosstalk run kosmos --quick"], 2),
        (&["run", "kosmo"], &["unknown study `kosmo`", "did you mean `kosmos`?"], 2),
        (&["run", "missing.toml"], &["missing.toml", "cannot read it"], 2),
        (&["run", "kosmos", "--", "true"], &["cannot be run at once"], 2),
        (&["run", "--nodes", "0", "--", "true"], &["--nodes", "found 0"], 2),
        (&["run", "--vary", "fabric=ethernet-1gb", "--", "true"], &["did you mean `ethernet-1g`?"], 2),
        (&["run", "--vary", "fabric", "--", "true"], &["--vary", "fabric=ethernet-1g,ethernet-10g"], 2),
        (&["run", "--vary", "fabrik=none", "--", "true"], &["--vary fabrik", "did you mean `fabric`?"], 2),
        (&["run", "--vary", "threads=1,2", "--", "true"], &["--vary env.threads=1,2"], 2),
        (
            &["run", "kosmos", "--set", "scale=18"],
            &["name one: aa.pagerank.scale, chassis.pagerank.scale"],
            2,
        ),
        (&["run", "kosmos", "--nodes", "2"], &["--nodes", "--set"], 2),
        (&["run", "kosmos", "--engine", "spark://h"], &["expected spark://HOST:PORT", "`spark://h`"], 2),
        (&["plan", "kosmos", "--engine", "spark://h:1"], &["`system` cannot be emulated", "analytics"], 2),
        (
            &["run", "analytics", "--engine", "spark://127.0.0.1:1", "--testbed", "virtual"],
            &["--testbed virtual", "no way to a cluster of yours"],
            2,
        ),
        (&["run", "kosmos", "--vary", "fabric=srio"], &["--vary", "--set"], 2),
        (&["run", "kosmos", "--scale", "10"], &["--scale", "no link of this study"], 2),
        (&["plan", "--nodes", "2", "--scale", "10", "--", "true"], &["--scale", "--vary fabric="], 2),
        (&["plan", "--scale", "0.5", "--vary", "fabric=srio", "--", "true"], &["--scale", "at least 1"], 2),
        (&["run", "--nodes", "-1", "--", "true"], &["'-1' for '--nodes"], 2),
        (&["run", "kosmos", "--seed", "-1"], &["'-1' for '--seed"], 2),
        (&["run", "kosmos", "--looks", "-1"], &["'-1' for '--looks"], 2),
        (&["guard", "--slowdown", "-1"], &["--slowdown", "0.1% to 100%", "--slowdown 1%"], 2),
        (&["guard", "--slowdown", "-1%"], &["--slowdown", "0.1% to 100%", "--slowdown 1%"], 2),
        (&["guard", "--for", "-1"], &["--for", "expected a duration"], 2),
        (&["guard", "--for", "-1 s"], &["--for", "expected a duration"], 2),
        (&["guard", "--pid", "-1"], &["'-1' for '--pid", "not in 1.."], 2),
        (&["exec", "--background", "--quota", "-1", "--", "true"], &["--quota", "0.01 to"], 2),
        (&["exec", "--background", "--cores", "-1", "--", "true"], &["--cores", "a number of processors"], 2),
        (&["exec", "--background", "--memory", "-1", "--", "true"], &["--memory", "unit"], 2),
        (&["exec", "--background", "--memory", "-1 B", "--", "true"], &["--memory", "expected a size"], 2),
        (&["trace", "--pid", "-1"], &["'-1' for '--pid"], 2),
        (&["trace", "--port", "1", "--for", "-1 s"], &["--for", "expected a duration"], 2),
        (&["guard", "--metrics", ""], &["--metrics", "127.0.0.1:9273"], 2),
        (&["guard", "--metrics", "9273"], &["--metrics", "127.0.0.1:9273"], 2),
        (&["plan", "/dev/zero"], &["/dev/zero", "at most 16 MiB"], 2),
        (&["probe", "latency", "--to", "h:1", "--fabric", "srio"], &["--fabric"], 2),
        (&["probe", "pcie", "--set", "device=ffff:ff:1f.7"], &["there is no PCI device"], 2),
        (&["run", "kosmos", "--set", "graph.slavs=1"], &["slavs"], 2),
        (&["run", "kosmos", "--set", "nonsense"], &["--set"], 2),
        (&["run", "kosmos", "--deadline", "soon"], &["--deadline"], 2),
        (
            &["run", "kosmos", "--quick", "--set", "graph.system=kosmos-sri"],
            &["did you mean `kosmos-srio`?"],
            2,
        ),
        (&["resume", "nowhere"], &["nowhere", "no run here"], 2),
        (&["report", "nowhere"], &["nowhere", "no run here"], 2),
        (&["show", "sriu"], &["did you mean `srio`?"], 2),
        (&["probe", "latency", "--to", "nonsense:x"], &["--to", "HOST:PORT"], 2),
        (&["probe", "latency", "--size", "0 B"], &["above zero"], 2),
        (&["probe", "latency", "--size", "64 Q"], &["unknown unit `Q`"], 2),
        (&["probe", "latency", "--scale", "10"], &["--scale", "--fabric"], 2),
        (&["probe", "latency", "--fabric", "srio", "--scale", "0.5"], &["--scale", "at least 1"], 2),
        (&["probe", "latency", "--fabric", "sri"], &["did you mean `srio`?"], 2),
    ];
    for (args, said, code) in cases {
        let output = crosstalk(dir.path(), args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(*code), "{args:?}: {text}");
        for words in *said {
            assert!(text.contains(words), "{args:?} should say `{words}`: {text}");
        }
        assert!(!text.contains("panicked"), "{args:?}: {text}");
    }
    assert!(std::fs::read_dir(dir.path()).expect("reads").next().is_none(), "nothing is left by a refusal");
}

#[test]
fn a_study_without_cells_or_with_too_many_nodes_says_so_and_does_not_offer_to_resume() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nconditions.fabric = \"none\"\n";
    for (rest, said) in [
        (
            "work.a = { kind = \"command\", argv = [\"$n\"] }\nfactors.n = { discover = \"moons\" }",
            "the host's moons",
        ),
        ("work.a = { kind = \"command\", argv = [\"true\"], nodes = 100000 }\nfactors = {}", "found 100000"),
    ] {
        std::fs::write(dir.path().join("s.toml"), format!("{top}{rest}")).expect("writes");
        let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && !text.contains("resume"), "{text}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_fault_and_a_closed_pipe_is_none() {
    let dir = tempfile::tempdir().expect("a directory");
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("skipped: no /dev/full here");
        return;
    };
    let child = command(dir.path(), &["show", "kosmos"]).stdout(full).output().expect("runs");
    assert_eq!(child.status.code(), Some(4));
    assert!(stderr(&child).contains("standard output"), "{}", stderr(&child));
    let mut child = command(dir.path(), &["show", "kosmos"]).spawn().expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().expect("ends").status.code(), Some(0));
}

#[test]
fn a_study_file_that_is_wrong_names_its_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let cases = [
        (
            "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nworks.a = { kind = \"stream\" }\n",
            "bad.toml:4",
        ),
        (
            "schema = \"crosstalk.study/9\"\ntitle = \"t\"\n[experiment.e]\nfactors = {}\nwork.a = { kind = \"stream\" }\n",
            "bad.toml:1",
        ),
        (
            "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nfactors = {}\nconditions = { system = \"microblade\" }\nwork.a = { kind = \"steam\" }\n",
            "bad.toml:6",
        ),
        ("title = \n", "bad.toml:1"),
    ];
    for (text, place) in cases {
        std::fs::write(dir.path().join("bad.toml"), text).expect("writes");
        let output = crosstalk(dir.path(), &["plan", "./bad.toml"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(place), "expected {place}: {said}");
    }
}

#[test]
fn json_is_one_object_a_line_and_the_last_is_the_result() {
    let dir = tempfile::tempdir().expect("a directory");
    for (args, result) in [
        (&["list", "--json"] as &[&str], "list"),
        (&["show", "srio", "--json"], "show"),
        (&["plan", "kosmos", "--quick", "--json"], "plan"),
        (&["plan", "latency", "--json"], "plan"),
        (&["clean", "--json"], "clean"),
        (&["doctor", "--json"], "doctor"),
        (&["run", "kosmo", "--json"], "fault"),
        (&["list", "bogus", "--json"], "fault"),
    ] {
        let output = crosstalk(dir.path(), args);
        let text = stdout(&output);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|l| serde_json::from_str(l).expect("a JSON object")).collect();
        assert_eq!(lines.last().expect("a line")["result"], result, "{args:?}: {text}");
    }
}

#[test]
fn doctor_measures_what_links_hold_and_names_a_scale_for_every_fabric() {
    let dir = tempfile::tempdir().expect("a directory");
    if !crate::common::virtual_nodes(dir.path()) {
        return;
    }
    let reported: serde_json::Value =
        serde_json::from_str(stdout(&crosstalk(dir.path(), &["doctor", "--json"])).trim()).expect("JSON");
    let held = reported["links"]["held"].as_f64().expect("some rate is held");
    let fabrics = reported["links"]["fabrics"].as_array().expect("fabrics");
    assert!(fabrics.iter().any(|f| f["fabric"] == "ethernet-10g"), "{reported}");
    for fabric in fabrics {
        if let Some(scale) = fabric["scale"].as_f64() {
            let rate = fabric["rate"].as_f64().expect("a rate");
            assert!(2.0 * rate / scale <= held, "{fabric} where {held} is held leaves no headroom");
        }
    }
}

#[test]
fn doctor_loads_nothing_with_no_load() {
    let dir = tempfile::tempdir().expect("a directory");
    let looked = crosstalk(dir.path(), &["doctor", "--no-load", "--json"]);
    let reported: serde_json::Value = serde_json::from_str(stdout(&looked).trim()).expect("JSON");
    assert!(reported["links"].is_null(), "{reported}");
    for found in reported["background"].as_array().expect("a list") {
        assert!(found["measured"].is_null() && found["competes"].is_boolean(), "{found}");
    }
    let help = stdout(&crosstalk(dir.path(), &["doctor", "--help"]));
    assert!(help.contains("--no-load") && help.contains("for about a second"), "{help}");
}

#[test]
fn every_remedy_of_doctor_is_something_to_do() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = stdout(&crosstalk(dir.path(), &["doctor", "--no-load"]));
    let tries = text.lines().filter_map(|line| line.trim().strip_prefix("try:"));
    for remedy in tries {
        assert!(!remedy.trim().is_empty() && !remedy.trim().starts_with("none"), "{remedy}");
    }
}

#[test]
fn a_study_that_show_prints_can_be_planned() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["show", "kosmos"]);
    std::fs::write(dir.path().join("mine.toml"), &output.stdout).expect("writes");
    let output = crosstalk(dir.path(), &["plan", "./mine.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn entries_that_share_a_name_are_listed_and_each_can_be_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    let both = crosstalk(dir.path(), &["show", "kosmos"]);
    assert!(stdout(&both).contains("crosstalk.study/1") && stderr(&both).contains("show systems/kosmos"));
    let system = stdout(&crosstalk(dir.path(), &["show", "systems/kosmos"]));
    assert!(system.contains("[network.srio]"), "{system}");
    let unknown = stderr(&crosstalk(dir.path(), &["show", "fabrics/zzzzzzzzzz"]));
    assert_eq!(unknown.matches("kosmos-ethernet,").count(), 1, "{unknown}");
}

#[test]
fn show_explains_the_parameters_of_a_workload() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = stdout(&crosstalk(dir.path(), &["show", "pagerank"]));
    let row = shown.lines().find(|line| line.starts_with("edge_factor")).expect("a row");
    assert_eq!(row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).count(), 3, "{shown}");
    assert!(shown.contains("worker_memory"), "those of the engines, too: {shown}");
    let reported = stdout(&crosstalk(dir.path(), &["show", "pagerank", "--json"]));
    let reported: serde_json::Value =
        serde_json::from_str(reported.lines().last().expect("a line")).expect("JSON");
    let first = &reported["entry"]["parameters"][0];
    assert_eq!(first["name"], "slaves");
    assert!(first["default"] == "1" && first["meaning"].as_str().is_some_and(|m| !m.is_empty()), "{first}");
}

#[test]
fn show_lists_the_metrics_of_a_workload() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = stdout(&crosstalk(dir.path(), &["show", "oltp"]));
    let row = |name: &str| shown.lines().find(|line| line.starts_with(name)).map(str::split_whitespace);
    assert_eq!(row("transaction_p99").expect("a row").collect::<Vec<_>>(), ["transaction_p99", "s", "lower"]);
    let command = stdout(&crosstalk(dir.path(), &["show", "workloads/command"]));
    assert!(
        command.contains("argv"),
        "a workload that cannot be deployed without parameters lists them: {command}"
    );
    let reported = |name: &str| -> serde_json::Value {
        let reported = stdout(&crosstalk(dir.path(), &["show", name, "--json"]));
        serde_json::from_str(reported.lines().last().expect("a line")).expect("JSON")
    };
    assert_eq!(reported("primes")["entry"]["metrics"][0]["name"], "run_time", "the first decides");
    assert!(
        reported("workloads/command")["entry"]["metrics"].is_null(),
        "they are not known before it is deployed"
    );
}

#[test]
fn a_fabric_that_show_prints_can_be_copied_and_changed() {
    let dir = tempfile::tempdir().expect("a directory");
    let shown = stdout(&crosstalk(dir.path(), &["show", "ethernet-10g"]));
    assert!(shown.contains("#   L  latency"), "it has a legend: {shown}");
    std::fs::create_dir_all(dir.path().join("my/fabrics")).expect("a folder");
    let faster = shown.replace("10 Gbit/s", "25 Gbit/s");
    std::fs::write(dir.path().join("my/fabrics/ethernet-25g.toml"), faster).expect("writes");
    let asked = [
        "plan",
        "--catalogue",
        "my",
        "--vary",
        "fabric=ethernet-25g,ethernet-1g",
        "--nodes",
        "2",
        "--",
        "true",
    ];
    let output = crosstalk(dir.path(), &asked);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("fabric ethernet-25g"));
}

#[test]
fn lists_fit_a_narrow_terminal() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = command(dir.path(), &["list"]).env("COLUMNS", "40").output().expect("runs");
    let text = stdout(&output);
    assert!(text.contains("published: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
}

#[test]
fn a_probe_measures_this_machine_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let sizes = "size=8 KiB,64 KiB";
    let asked = ["probe", "memory", "--set", sizes, "--set", "node=0", "--set", "duration=5 ms"];
    let shown = crosstalk(dir.path(), &asked);
    let text = stdout(&shown);
    assert_eq!(shown.status.code(), Some(0), "{}", stderr(&shown));
    assert!(text.starts_with("load time\n") && text.contains("64 KiB, node 0"), "{text}");
    let reported = crosstalk(dir.path(), &[&asked[..], &["--json"]].concat());
    assert_eq!(reported.status.code(), Some(0), "{}", stderr(&reported));
    let reported = stdout(&reported);
    let reported: serde_json::Value =
        serde_json::from_str(reported.lines().last().expect("a line")).expect("JSON");
    assert_eq!(reported["readings"][0]["unit"], "s");
    for (args, says) in [
        (&["probe", "memory", "--set", "sise=1"] as &[&str], "did you mean `size`?"),
        (&["probe", "cores", "--set", "cpus=0,0"], "two different processors"),
        (&["probe", "pcie", "--set", "mapped=true"], "name the device"),
        (&["probe", "bandwidth", "--poll"], "--poll"),
    ] {
        let refused = crosstalk(dir.path(), args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
        assert!(stderr(&refused).contains(says), "{args:?}: {}", stderr(&refused));
    }
}
