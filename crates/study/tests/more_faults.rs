//! What is wrong with a disk, with a ratio that is set against another, with a published size, or with what a parameter follows.

use crate::faults::{STUDY, expect, planned};
use crate::mock;
use crosstalk_study::{PlanOptions, parse, parse_recorded, plan};

#[test]
fn a_ratio_against_itself_or_two_others() {
    let to = "to = { system = \"microblade\" }";
    let against = |levels: &str| format!("{to}, against = {{ {levels} }}");
    expect(to, &against("size = 64"), 15, "always 1", "in which the others differ");
    expect(to, &against("size = 96"), 15, "no level `96`", "64, 128");
    expect(
        to,
        &against("system = \"microblade\""),
        15,
        "gives factor `system` its level",
        "leave to `where`",
    );
    expect(to, &format!("{}, over = \"e\"", against("size = 128")), 15, "names experiment `e` already", "");
    planned(&STUDY.replacen(to, &against("size = 128"), 1)).expect("plans");
}

#[test]
fn a_disk_without_a_rate_or_in_real_time() {
    let conditions = "conditions = { system = \"$system\", boards = \"many\" }";
    let scene = format!("work.s = {{ kind = \"stream\", size = \"$size\" }}\n{conditions}");
    let real = "work.s = { kind = \"latency\", size = \"$size\" }";
    let limited = format!("{real}\nconditions.disk = \"88 MB/s 11.9 ms\"");
    expect(&scene, &limited, 6, "`latency` runs in real time, where `disk` means nothing", "leave it out");
    let at = "boards = \"many\"";
    let disk = |text: &str| format!("{at}, disk = \"{text}\"");
    expect(
        at,
        &disk("ssd"),
        6,
        "expected the rate and the latency of a disk, found `ssd`",
        "88 MB/s 11.9 ms",
    );
    planned(&STUDY.replacen(at, &disk("500 MB/s 50 µs"), 1)).expect("plans");
}

#[test]
fn a_published_number_needs_a_margin_or_a_reason_before_a_run_and_not_after_it() {
    let study = |claim: &str| {
        format!(
            "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nwork.s = {{ kind = \"stream\", size = \"$size\" }}\n\
             conditions.system = \"microblade\"\nfactors.size = [\"64 B\", \"1 KiB\"]\n[claim.c]\nstatement = \"s\"\n\
             experiment = \"e\"\nratio = {{ metric = \"bandwidth\", of = {{ size = \"1 KiB\" }}, to = {{ size = \"64 B\" }} }}\n\
             expect = \"> 1\"\npublished = 2\n{claim}"
        )
    };
    let fault = parse(&study(""), "s.toml").expect_err("no margin");
    assert!(fault.message.contains("2 is published, and no margin"), "{fault:?}");
    assert_eq!(fault.place.as_deref(), Some("s.toml:7"));
    assert!(parse_recorded(&study(""), "s.toml").is_ok(), "an earlier version has run it");
    assert!(parse(&study("margin = \"5 %\""), "s.toml").is_ok());
    assert!(parse(&study("size_not_comparable = \"another graph\""), "s.toml").is_ok());
    let both = "margin = \"5 %\"\nsize_not_comparable = \"another graph\"";
    let fault = parse(&study(both), "s.toml").expect_err("both");
    assert!(fault.message.contains("has no margin"), "{fault:?}");
}

#[test]
fn what_nothing_could_refute_is_refused_before_a_run_and_not_after_it() {
    let study = |statement: &str, form: &str| {
        format!(
            "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nwork.s = {{ kind = \"stream\", size = \"$size\" }}\n\
             conditions.system = \"microblade\"\nfactors.size = [\"64 B\", \"1 KiB\"]\n[claim.c]\nexperiment = \"e\"\n\
             statement = \"{statement}\"\n{form}"
        )
    };
    let ratio = "ratio = { metric = \"bandwidth\", of = { size = \"1 KiB\" }, to = { size = \"64 B\" } }";
    for (form, words, line) in [
        ("threshold = { metric = \"share time_wait\" }\nexpect = \"> 0\"".to_string(), "is from 0 to 1", 11),
        ("threshold = { metric = \"share time_wait\" }\nexpect = \"<= 1\"".to_string(), "is from 0 to 1", 11),
        (
            "peak = { metric = \"bandwidth\", along = \"size\", among = [\"64 B\", \"1 KiB\"] }".to_string(),
            "all levels",
            10,
        ),
        (
            "correlation = { x = \"run_time\", y = \"run_time\" }\nexpect = \"> 0\"".to_string(),
            "with itself",
            10,
        ),
        (format!("{ratio}\nexpect = \"> 1\"\npublished = 2\nmargin = \"101 %\""), "hardly any number", 13),
        (
            format!("{ratio}\nexpect = \"< 1\"\npublished = -1.0\nmargin = \"5 %\""),
            "above zero, and -1 is not",
            12,
        ),
        (format!("{ratio}\ncalibration = \" \""), "is empty", 11),
    ] {
        let text = study("s", &form);
        let fault = parse(&text, "s.toml").expect_err(words);
        assert!(fault.message.contains(words) && fault.remedy.is_some(), "{form}: {fault:?}");
        assert_eq!(fault.place, Some(format!("s.toml:{line}")), "{form}");
        assert!(parse_recorded(&text, "s.toml").is_ok(), "an earlier version has run it: {form}");
    }
    let good = format!("{ratio}\nexpect = \"> 1\"");
    assert!(parse(&study("", &good), "s.toml").is_err_and(|fault| fault.message.contains("is empty")));
    assert!(parse(&study("s", &good), "s.toml").is_ok());
}

#[test]
fn a_parameter_that_follows_what_is_not_there_is_refused_before_anything_runs() {
    let mut all = mock::catalogues();
    let fabric = "title = \"Mine\"\nrate = \"1 Gbit/s\"\n\
                  costs = { L = \"20 µs\", o = \"1 µs\", g = \"0 s\", G = \"8 ns\" }\n\
                  [source]\nL = { text = \"t\", follows = \"ethernet-25g\", range = [0.9, 1.1] }";
    all.add_fabric("mine", fabric, "mine.toml").expect("reads");
    let system = "title = \"T\"\nboards = { count = 2, nodes = 2 }\n\
                  node = { cpu = \"c\", cores = 1, clock = \"1 GHz\", speed = 0.2, memory = \"1 GB\" }\n\
                  network.n = { within = \"mine\", across = \"mine\" }\n[source]\nspeed = { text = \"t\" }";
    all.add_system("box", system, "box.toml").expect("reads");
    let text = "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\n\
                work.graph = { kind = \"pagerank\", slaves = 1 }\nconditions = { system = \"box\" }\nfactors = {}\n";
    let study = parse(text, "f.toml").expect("reads");
    let fault = plan(&study, &all, &mock::registry(), &PlanOptions::default()).expect_err("is not there");
    assert!(fault.message.contains("unknown fabric `ethernet-25g`"), "{fault}");
    assert_eq!(fault.place.as_deref(), Some("fabric mine: L: follows"));
}
