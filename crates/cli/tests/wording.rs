//! Messages, exports and completions: in the user's words, with remedies.

use crate::common::{command, crosstalk, stderr, stdout};
use std::path::Path;
use std::process::Command;

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("writes");
}

#[test]
fn a_prepare_line_that_fails_is_named_in_the_remedy() {
    let dir = tempfile::tempdir().expect("a directory");
    let args =
        ["run", "--testbed", "local", "--runs", "1", "--warmup", "1", "--prepare", "exit 3", "--", "true"];
    let output = crosstalk(dir.path(), &args);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("`exit 3` ended with exit code 3") && said.contains("--prepare"), "{said}");
    assert!(!said.contains("run the command by hand"), "{said}");
    assert!(said.contains("warm-up 1 of 1 failed"), "{said}");
}

#[test]
fn a_margin_out_of_range_is_refused_with_both_notations() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = |margin: &str| {
        stderr(&crosstalk(dir.path(), &["plan", "--vary", "env.A=1,2", "--margin", margin, "--", "true"]))
    };
    assert!(said("5").contains("write \"5 %\" or 0.05"), "{}", said("5"));
    assert!(said("10").contains("write \"10 %\" or 0.1"), "{}", said("10"));
    assert!(said("wide").contains("write \"5 %\" or 0.05"), "{}", said("wide"));
}

#[test]
fn faults_in_a_file_name_no_rust_types() {
    let dir = tempfile::tempdir().expect("a directory");
    let top = "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n";
    for (rest, said) in [
        ("[experiment.e]\nwork.a = 3\n", "expected a table, found the number `3`"),
        ("[headline]\nexperiment = 3\n", "expected text, found the number `3`"),
        ("[figure]\na = \"x\"\n", "expected a table, found text \"x\""),
        ("looks = \"x\"\n", "expected a list, found text \"x\""),
        ("[experiment.e]\nobserve = { a = 1 }\n", "expected a list, found a table"),
    ] {
        write(dir.path(), "s.toml", &format!("{top}{rest}"));
        let text = stderr(&crosstalk(dir.path(), &["plan", "./s.toml"]));
        assert!(text.contains(said) && text.contains("s.toml:"), "{rest}: {text}");
    }
    let fabrics = dir.path().join("my/fabrics");
    std::fs::create_dir_all(&fabrics).expect("makes");
    let fabric = stdout(&crosstalk(dir.path(), &["show", "srio"]));
    let guessed = fabric.lines().map(|line| if line.starts_with("O = ") { "O = \"a guess\"" } else { line });
    write(&fabrics, "x.toml", &guessed.collect::<Vec<_>>().join("\n"));
    let vary = ["plan", "--catalogue", "my", "--nodes", "2", "--vary", "fabric=x,none", "--", "true"];
    let text = stderr(&crosstalk(dir.path(), &vary));
    assert!(text.contains("x.toml:") && text.contains("expected a table, found text \"a guess\""), "{text}");
    write(dir.path(), "rules.toml", "schema = \"crosstalk.guard/1\"\nexternal = 3\n");
    let text = stderr(&crosstalk(dir.path(), &["guard", "--rules", "rules.toml", "--for", "0.1"]));
    assert!(text.contains("expected a list, found the number `3`"), "{text}");
}

#[test]
fn show_suggests_names_of_its_catalogue() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, said) in [
        ("kosmo", &["unknown name `kosmo`", "did you mean `kosmos`?"][..]),
        ("fabrics/sri", &["unknown fabric `sri`", "did you mean `srio`?"]),
        ("studies/kosmo", &["unknown study `kosmo`", "did you mean `kosmos`?"]),
        ("fabrics/zzzzzzzzz", &["one of: ethernet-10g, ", "srio"]),
        ("published/nix", &["unknown published figure `nix`", "crosstalk list published"]),
    ] {
        let output = crosstalk(dir.path(), &["show", name]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(said.iter().all(|words| text.contains(words)), "{name}: {text}");
    }
    let text = stderr(&crosstalk(dir.path(), &["show", "fabrics/zzzzzzzzz"]));
    assert!(!text.contains("pagerank"), "fabrics alone: {text}");
}

#[test]
fn exports_have_the_command_quoted_for_a_shell() {
    let dir = tempfile::tempdir().expect("a directory");
    let files = ["--export-csv", "a.csv", "--export-json", "a.json", "--export-markdown", "a.md"];
    let line = "true | cat; echo \"it's\"";
    let args =
        [&["run", "--testbed", "local", "--runs", "1"], &files[..], &["--", "sh", "-c", line]].concat();
    let output = crosstalk(dir.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).expect("is written");
    let reported: serde_json::Value = serde_json::from_str(&read("a.json")).expect("JSON");
    let command = reported["results"][0]["command"].as_str().expect("text");
    let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&words.stdout), format!("sh\n-c\n{line}\n"), "{command}");
    assert!(read("a.csv").contains("sh -c 'true | cat"), "{}", read("a.csv"));
    assert!(read("a.md").contains("sh -c 'true \\| cat"), "{}", read("a.md"));
}

#[test]
fn a_probe_that_cannot_connect_has_no_result() {
    let dir = tempfile::tempdir().expect("a directory");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let to = free.local_addr().expect("has one").to_string();
    drop(free);
    for kind in ["latency", "load", "bandwidth"] {
        let output = crosstalk(dir.path(), &["probe", kind, "--to", &to, "--export-json", "a.json"]);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert_eq!(stdout(&output), "", "{kind}");
        assert!(stderr(&output).contains(&format!("{to}: cannot connect")), "{}", stderr(&output));
        assert!(!dir.path().join("a.json").exists(), "nothing was measured");
        let output = crosstalk(dir.path(), &["probe", kind, "--to", &to, "--json"]);
        let reported: serde_json::Value =
            serde_json::from_str(stdout(&output).trim()).expect("one line of JSON");
        assert_eq!((&reported["result"], &reported["exit"]), (&"fault".into(), &4.into()), "{reported}");
    }
}

#[test]
fn every_probe_takes_its_parameters_by_name() {
    let dir = tempfile::tempdir().expect("a directory");
    for kind in ["latency", "load", "bandwidth", "memory", "cores", "kernel", "speed", "pcie", "wire"] {
        let output = crosstalk(dir.path(), &["probe", kind, "--set", "nix=1"]);
        assert_eq!(output.status.code(), Some(2), "{kind}: {}", stderr(&output));
        assert!(stderr(&output).contains("unknown parameter `nix`"), "{kind}: {}", stderr(&output));
    }
    let to = ["probe", "latency", "--to", "127.0.0.1:1", "--set", "mode=dozing"];
    let output = crosstalk(dir.path(), &to);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("unknown mode `dozing`"), "{}", stderr(&output));
}

#[test]
fn completions_offer_the_catalogues_names() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = stdout(&crosstalk(dir.path(), &["completions", "bash"]));
    write(dir.path(), "crosstalk.bash", &script);
    // The words that bash offers after these.
    let offered = |words: &str| {
        let line = format!(
            ". ./crosstalk.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _crosstalk crosstalk \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"; \
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &line]).current_dir(dir.path()).output().expect("runs");
        stdout(&output).lines().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(offered("crosstalk run kos"), ["kosmos"]);
    assert_eq!(offered("crosstalk plan vol"), ["volunteer"]);
    assert_eq!(offered("crosstalk show kosmos-"), ["kosmos-ethernet", "kosmos-srio"]);
    assert_eq!(offered("crosstalk path pcie-fabric-"), ["pcie-fabric-switch"]);
    assert_eq!(offered("crosstalk probe latency --fabric sr"), ["srio"]);
    assert_eq!(offered("crosstalk run --engine sp"), ["spark"]);
    assert_eq!(offered("crosstalk probe collective allr"), ["allreduce"]);
    assert_eq!(offered("crosstalk replay --mpi mva"), ["mvapich-0.9.4"]);
    assert_eq!(offered("crosstalk data get wiki-"), ["wiki-vote"]);
    let fish = stdout(&crosstalk(dir.path(), &["completions", "fish"]));
    assert!(
        fish.contains("using_subcommand run\" -a \"analytics engines groups infiniband kosmos"),
        "{fish}"
    );
    let zsh = stdout(&crosstalk(dir.path(), &["completions", "zsh"]));
    assert!(zsh.contains("\"studies:study:(analytics engines groups infiniband kosmos"), "{zsh}");
    // Other words than the offered ones are accepted.
    let mut mine = command(dir.path(), &["plan", "./mine.toml"]);
    assert!(stderr(&mine.output().expect("runs")).contains("mine.toml: cannot read it"));
}

#[test]
fn the_report_says_what_the_nodes_are() {
    let dir = tempfile::tempdir().expect("a directory");
    write(
        dir.path(),
        "slaves.toml",
        r#"
        schema = "crosstalk.study/1"
        title = "Do more slaves help?"
        looks = [2]
        [headline]
        experiment = "rank"
        level = 2
        [experiment.rank]
        work.rank = { kind = "pagerank", slaves = "$slaves", scale = 8 }
        conditions = { fabric = "none" }
        factors = { slaves = [1, 2] }
        compare = { factor = "slaves", base = 1 }
        "#,
    );
    let output = crosstalk(dir.path(), &["run", "./slaves.toml"]);
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(0), "{text}{}", stderr(&output));
    assert!(text.contains(" nodes (1 master and 1 or 2 slaves)"), "{text}");
}

#[test]
fn a_program_without_the_two_dashes_gets_a_hint() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "job.py", "#!/usr/bin/env python3\nprint(1)\n");
    let job = dir.path().join("job.py");
    std::fs::set_permissions(&job, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("sets");
    for (args, said) in [
        (&["run", "./job.py"][..], "your own program goes after `--`: crosstalk run -- ./job.py"),
        (&["run", "sleep"], "your own program goes after `--`: crosstalk run -- sleep"),
        (&["run", "sleep", "0.1"], "Your own program goes after `--`: crosstalk run -- "),
    ] {
        let output = crosstalk(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn an_environment_variable_has_its_value_as_typed() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["run", "--testbed", "local", "--runs", "1", "--vary", "env.V=3.10,007,1e3", "--out", "out"];
    let output = crosstalk(dir.path(), &[&args[..], &["--", "sh", "-c", "echo $V >> seen"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let seen = std::fs::read_to_string(dir.path().join("seen")).expect("was written");
    let seen: std::collections::BTreeSet<&str> = seen.lines().collect();
    assert_eq!(seen, ["007", "1e3", "3.10"].into());
    let report = stdout(&crosstalk(dir.path(), &["report", "out"]));
    assert!(report.contains("3.10") && report.contains("007"), "{report}");
}

#[test]
fn a_hint_to_resume_names_the_requested_exports() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["run", "--testbed", "local", "--runs", "2", "--out", "out", "--", "true"];
    assert_eq!(crosstalk(dir.path(), &args).status.code(), Some(0));
    // As after a kill just before its end.
    let journal = dir.path().join("out/journal.ndjson");
    let text = std::fs::read_to_string(&journal).expect("reads");
    let last = text.trim_end().rfind('\n').expect("several lines");
    std::fs::write(&journal, &text[..=last]).expect("writes");
    let report = stdout(&crosstalk(dir.path(), &["report", "out", "--export-csv", "a b.csv"]));
    assert!(report.contains("resume it with: crosstalk resume out --export-csv 'a b.csv'"), "{report}");
}
