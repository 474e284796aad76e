//! The study behind `crosstalk run --nodes N --vary F=A,B -- CMD`.

use crate::mock;
use crate::synthetic::{PlannedStudy, claim, is};
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::testbed::Link;
use crosstalk_core::units::BitRate;
use crosstalk_core::value::{Levels, Value};
use crosstalk_study::command::{VariedFactor, with_margin};
use crosstalk_study::findings::{ClaimVerdict, ComparisonVerdict, FigureKind, Findings};
use crosstalk_study::plan::{Place, Plan};
use crosstalk_study::samples::Run;
use crosstalk_study::{PlanOptions, command_study, parse, parse_setting, plan, resolve, to_toml};

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn vary(factor: &str, levels: &[&str]) -> VariedFactor {
    (factor.into(), levels.iter().map(|level| Value::from_word(level)).collect())
}

#[test]
fn the_readmes_first_example() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    let plan = plan_of(&study).expect("plans");
    let links: Vec<_> = plan.experiments[0].cells.iter().map(|cell| cell.scene.place.clone()).collect();
    let real = |fabric: &str, rate: f64| Place::Real {
        fabric: fabric.into(),
        link: Link::Rate(BitRate(rate)),
        scale: 1.0,
        nodes: 2,
    };
    assert_eq!(links, [real("ethernet-1g", 1e9), real("ethernet-10g", 1e10)]);
    assert_eq!(plan.looks, [12, 24, 48]);
    assert_eq!(plan.warnings, Vec::<String>::new());
    let headline = study.headline.expect("compares");
    assert_eq!((headline.level, headline.subject.as_str()), ("ethernet-10g".into(), "my-job"));
}

/// Ten times the rate, and the same latency.
const FASTER: [(&str, f64); 2] = [("ethernet-1g", 1e9), ("ethernet-10g", 1e10)];
/// A latency of 24.1 µs and one of 5 µs, where the rate is taken to be the same.
const SHORTER: [(&str, f64); 2] = [("ethernet-1g", 1e9), ("myrinet-2000", 1e9)];

/// A run of a program that sends so many messages of so many bytes from each of two nodes in turn, over links at
/// the `scale`th part of their rates: half a frame's time on each of two links, and 10 ms of computing.
fn scaled_run(fabrics: [(&str, f64); 2], messages: [f64; 2], bytes: [f64; 2], scale: f64) -> Findings {
    let planned = scaled_study(fabrics, scale, "");
    planned.findings(&attempts(&planned, fabrics, messages, bytes, scale, true))
}

/// The study of that program, with `more` in it.
fn scaled_study(fabrics: [(&str, f64); 2], scale: f64, more: &str) -> PlannedStudy {
    let vary = [vary("fabric", &fabrics.map(|(name, _)| name))];
    let study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    let study = parse(&format!("{}\n{more}", to_toml(&study)), "my.toml").expect("reads");
    let options = PlanOptions { scale: Some(scale), ..PlanOptions::default() };
    let study = resolve(&study, &mock::registry(), &options).expect("links can be slowed down");
    PlannedStudy { plan: plan_of(&study).expect("plans"), study }
}

/// Its attempts; what it sends is in them only where that is `counted`.
fn attempts(
    planned: &PlannedStudy,
    fabrics: [(&str, f64); 2],
    messages: [f64; 2],
    bytes: [f64; 2],
    scale: f64,
    counted: bool,
) -> Run {
    let rate = |levels: &Levels| fabrics[usize::from(!is(levels, "fabric", fabrics[0].0))].1;
    let wire = messages[0] * (bytes[0] + 66.0) + messages[1] * (bytes[1] + 66.0);
    let time = |levels: &Levels| 0.01 + wire * 8.0 * scale / rate(levels);
    let mut run = planned.run(12, 0.001, 1, &|_, levels, _| time(levels));
    for attempt in &mut run.attempts {
        attempt.readings.retain(|reading| !reading.metric.starts_with("sent_"));
        let counts = (0..2).filter(|_| counted).flat_map(|node| {
            let count =
                |name: &str, value: f64| Reading::value(name, value, Origin::Measured).label("node", node);
            [count("sent_messages", messages[node]), count("sent_bytes", messages[node] * bytes[node])]
        });
        attempt.readings.extend(counts);
    }
    run
}

/// A claim that asks what the comparison asks.
const CLAIM: &str = r#"
    [claim.faster]
    statement = "Ten times the rate makes it faster"
    experiment = "command"
    ratio = { metric = "run_time", of = { fabric = "ethernet-10g" }, to = { fabric = "ethernet-1g" } }
    expect = "< 1"
"#;

#[test]
fn the_verdict_of_a_claim_about_a_ratio_at_a_scale_is_withheld_as_a_comparison_s_is() {
    let small = scaled_study(FASTER, 50.0, CLAIM);
    let findings = small.findings(&attempts(&small, FASTER, [1e3; 2], [64.0; 2], 50.0, true));
    let withheld = claim(&findings, "faster");
    assert_eq!(withheld.verdict, ClaimVerdict::Inconclusive, "{withheld:?}");
    assert!(withheld.why.starts_with("no verdict: links run at 1/50"), "{withheld:?}");
    assert_eq!((withheld.size_agrees, withheld.attribution.is_some()), (None, false), "{withheld:?}");
    let large = findings_of_large(true);
    assert_eq!(claim(&large, "faster").verdict, ClaimVerdict::Reproduced);
}

#[test]
fn uncounted_messages_at_a_scale_give_a_warning() {
    let warned = |findings: &Findings| {
        findings
            .warnings
            .iter()
            .any(|w| w.starts_with("command: links run at 1/50") && w.contains("not counted"))
    };
    let findings = findings_of_large(false);
    assert!(warned(&findings), "{:?}", findings.warnings);
    assert!(!warned(&findings_of_large(true)));
}

/// Few and large messages.
fn findings_of_large(counted: bool) -> Findings {
    let planned = scaled_study(FASTER, 50.0, CLAIM);
    planned.findings(&attempts(&planned, FASTER, [4.0; 2], [64.0, 2e5], 50.0, counted))
}

#[test]
fn latency_that_is_not_scaled_allows_no_verdict_where_messages_are_small() {
    // 1,000 round trips of 64 B: 104 ms and 10.4 ms at 1/50, and 24.1 µs of latency for each of 2,000 dependent messages is
    // 48 ms; at 1/50 it would be 2.4 s.
    let findings = scaled_run(FASTER, [1e3; 2], [64.0; 2], 50.0);
    let comparison = &findings.comparisons[0];
    assert!(comparison.ratio.value < 0.2, "{comparison:?}");
    assert_eq!(comparison.verdict, ComparisonVerdict::Inconclusive);
    let text = &findings.headline.text;
    assert!(!findings.headline.decided && !text.contains("faster"), "{text}");
    // (10 ms + 104 ms + 2.36 s) / (10 ms + 10.4 ms + 2.36 s) = 1.04.
    for expected in ["no verdict on my-job", "1/50", "messages of 64 B", "it would be about 1.04 ×"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(findings.warnings.iter().any(|w| w.contains("no verdict: links run at 1/50")), "{findings:?}");
    // No list of comparisons and no file has the factor as a sentence either.
    assert_eq!(comparison.change, "no verdict: latency is not scaled");
}

#[test]
fn latency_that_is_not_scaled_allows_no_equality_either() {
    // 114 ms at both; the latency that 2,000 dependent messages lack is 2.36 s at one, 0.49 s at the other.
    let findings = scaled_run(SHORTER, [1e3; 2], [64.0; 2], 50.0);
    let comparison = &findings.comparisons[0];
    assert!((comparison.ratio.value - 1.0).abs() < 0.01, "{comparison:?}");
    assert_eq!(comparison.verdict, ComparisonVerdict::Inconclusive);
    assert_eq!(comparison.change, "no verdict: latency is not scaled");
    let text = &findings.headline.text;
    assert!(!findings.headline.decided && text.contains("no verdict on my-job"), "{text}");
    let unscaled = scaled_run(SHORTER, [1e3; 2], [64.0; 2], 1.0);
    assert_eq!(unscaled.comparisons[0].verdict, ComparisonVerdict::Equivalent);
}

#[test]
fn a_few_large_messages_at_a_scale_have_a_verdict_and_say_for_whom_it_holds() {
    // Four requests of 64 B, four answers of 200 kB: eight dependent messages lack 9.4 ms; the run times are 330 ms and 43 ms.
    let findings = scaled_run(FASTER, [4.0; 2], [64.0, 2e5], 50.0);
    assert_eq!(findings.comparisons[0].verdict, ComparisonVerdict::Better);
    assert!(findings.headline.text.contains("faster"), "{}", findings.headline.text);
    let holds = |w: &String| w.contains("as many messages, each 50 times as large") && w.contains("8 a run");
    assert!(findings.warnings.iter().any(holds), "{:?}", findings.warnings);
}

#[test]
fn where_nothing_is_scaled_small_messages_are_no_matter() {
    let findings = scaled_run(FASTER, [1e5; 2], [64.0; 2], 1.0);
    assert_eq!(findings.comparisons[0].verdict, ComparisonVerdict::Better);
    assert!(findings.warnings.iter().all(|w| !w.contains("latency")), "{:?}", findings.warnings);
}

#[test]
fn a_budget_that_can_decide_nothing_says_so() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let mut study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    // One question at two-sided 5 %: all blocks on one side have 2^-n, so that 6 can and 5 cannot.
    study.looks = vec![5];
    let warnings = plan_of(&study).expect("plans").warnings;
    assert!(
        warnings[0].starts_with("5 blocks can decide nothing") && warnings[0].contains("--runs 8"),
        "{warnings:?}"
    );
    // A block is lost where an attempt fails: 6 can decide, and have none to spare.
    study.looks = vec![6];
    let warnings = plan_of(&study).expect("plans").warnings;
    assert!(warnings[0].starts_with("6 blocks leave too few spare ones"), "{warnings:?}");
    study.looks = vec![8];
    assert_eq!(plan_of(&study).expect("plans").warnings, Vec::<String>::new());
}

#[test]
fn rates_are_scaled_down_together() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g", "none"])];
    let study = command_study(2, &vary, &words(&["./my-job"])).expect("is a study");
    let scaled = |scale| PlanOptions { scale: Some(scale), ..PlanOptions::default() };
    let resolved = |study, scale| resolve(study, &mock::registry(), &scaled(scale));
    let study = resolved(&study, 10.0).expect("links can be slowed down");
    let plan = plan_of(&study).expect("plans");
    let links: Vec<_> = plan
        .cells()
        .map(|cell| match cell.scene.place {
            Place::Real { link, .. } => link,
            Place::Virtual { .. } | Place::Outside { .. } => {
                panic!("a program of one's own runs in real time")
            }
        })
        .collect();
    let rate = |rate: f64| Link::Rate(BitRate(rate));
    assert_eq!(links, [rate(1e8), rate(1e9), Link::Unshaped]);
    let saved = to_toml(&study);
    assert_eq!(parse(&saved, "my.toml").expect("reads"), study);
    let fault = resolved(&study, 0.1).expect_err("links cannot be sped up").to_string();
    assert!(fault.starts_with("--scale") && fault.contains("at least 1"), "{fault}");
    let alone = command_study(2, &[], &words(&["./my-job"])).expect("a study");
    let fault = resolved(&alone, 10.0).expect_err("nothing to slow down").to_string();
    assert!(fault.starts_with("--scale") && fault.contains("--vary fabric="), "{fault}");
}

fn plan_of(study: &crosstalk_study::file::Study) -> Result<Plan, crosstalk_core::Fault> {
    plan(study, &mock::catalogues(), &mock::registry(), &PlanOptions::default())
}

#[test]
fn a_saved_study_reads_as_the_same() {
    let vary = [vary("fabric", &["ethernet-1g", "none"]), vary("env.THREADS", &["1", "2"])];
    let study = command_study(3, &vary, &words(&["sh", "-c", "echo $HOME"])).expect("is a study");
    assert_eq!(parse(&to_toml(&study), "my.toml").expect("reads"), study);
}

#[test]
fn environment_variables_reach_the_command_under_their_names() {
    let vary = [vary("fabric", &["none"]), vary("env.IO_DEPTH", &["1", "32"])];
    let study = command_study(1, &vary, &words(&["./job", "$1", "$$"])).expect("is a study");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).expect("plans");
    let params = &plan.experiments[0].cells[1].scene.work["command"].params;
    let pair = Value::List(vec!["IO_DEPTH".into(), 32.into()]);
    assert_eq!(params.get("env"), Some(&Value::List(vec![pair])));
    let argv = Value::List(vec!["./job".into(), "$1".into(), "$$".into()]);
    assert_eq!(params.get("argv"), Some(&argv), "the command's own $ stays as it is");
}

#[test]
fn one_node_has_no_link_to_compare_fabrics_over() {
    let vary = [vary("fabric", &["ethernet-1g", "ethernet-10g"])];
    let study = |nodes| command_study(nodes, &vary, &words(&["true"])).expect("is a study");
    let fault = plan_of(&study(1)).expect_err("refused");
    assert_eq!(fault.place.as_deref(), Some("--vary fabric"));
    assert!(plan_of(&study(2)).is_ok());
}

#[test]
fn without_factors_it_is_one_cell_and_no_comparison() {
    let study = command_study(1, &[], &words(&["true"])).expect("is a study");
    let plan = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).expect("plans");
    assert_eq!(plan.experiments[0].cells.len(), 1);
    assert_eq!(study.headline, None);
}

#[test]
fn wrong_arguments_are_refused() {
    let fault = |nodes, vary: &[VariedFactor], argv: &[&str]| {
        command_study(nodes, vary, &words(argv)).expect_err("refused").to_string()
    };
    assert!(fault(0, &[], &["true"]).starts_with("--nodes: "));
    assert!(fault(1, &[], &[]).contains("no command is given"));
    assert!(fault(1, &[vary("system", &["kosmos-srio"])], &["true"]).contains("vary `fabric`"));
    assert!(fault(1, &[vary("nodes", &["1", "2"])], &["true"]).contains("--nodes"));
    assert!(fault(1, &[vary("env.a b", &["1"])], &["true"]).starts_with("--vary env.a b: "));
    assert!(fault(1, &[vary("env.", &["1"])], &["true"]).starts_with("--vary env.: "));
    assert!(fault(1, &[vary("env.CROSSTALK_NODE", &["1"])], &["true"]).contains("reserved for Crosstalk"));
    assert!(fault(1, &[vary("env.a", &["1"]), vary("env.a", &["2"])], &["true"]).contains("twice"));
    assert!(fault(1, &[vary("env.a", &["1", "1"])], &["true"]).contains("twice"));
    assert!(fault(1, &[vary("env.a", &[])], &["true"]).starts_with("--vary: "));
}

#[test]
fn a_typing_mistake_is_no_environment_variable() {
    let fault = |name: &str| {
        command_study(1, &[vary(name, &["1", "2"])], &words(&["true"])).expect_err(name).to_string()
    };
    for near in ["fabrik", "Fabric", "fabrics"] {
        assert!(fault(near).contains("did you mean `fabric`?"), "{}", fault(near));
    }
    assert!(fault("threads").starts_with("--vary threads: unknown factor `threads`"));
    for far in ["threads", "envthreads", "env-threads"] {
        assert!(fault(far).contains("--vary env.threads=1,2"), "{}", fault(far));
    }
}

#[test]
fn a_command_has_the_name_of_what_it_runs() {
    let called = |argv: &[&str]| command_study(1, &[], &words(argv)).expect("is a study").name;
    let cases: [(&[&str], &str); 13] = [
        (&["./my-job", "x"], "my-job"),
        (&["python3", "job.py", "--fast"], "job.py"),
        (&["/usr/bin/python3.11", "-u", "src/job.py"], "job.py"),
        (&["python3", "-c", "print(1)"], "python3"),
        (&["python3", "-m", "http.server"], "http.server"),
        (&["sh", "-c", "A=1 ./job --x $A"], "job"),
        (&["bash", "job.sh"], "job.sh"),
        (&["sh", "-c", "[ $A = 2 ] && exit 7"], "sh"),
        (&["sh", "-c", "i=0; while ./job $i; do i=1; done"], "job"),
        (&["perl", "-e", "print 1"], "perl"),
        (&["env", "A=1", "./job"], "job"),
        (&["timeout", "5", "./job"], "job"),
        (&["nice", "-n", "10", "make"], "make"),
    ];
    for (argv, name) in cases {
        assert_eq!(called(argv), name, "{argv:?}");
    }
}

#[test]
fn of_two_factors_every_combination_is_compared() {
    let vary = [vary("env.A", &["1", "2"]), vary("env.MODE", &["slow", "fast"])];
    let study = command_study(1, &vary, &words(&["./job"])).expect("is a study");
    let planned = PlannedStudy { plan: plan_of(&study).expect("plans"), study };
    let time = |levels: &Levels| if levels["A"] == 2.into() { 2.0 } else { 1.0 };
    let time = |levels: &Levels| time(levels) * if is(levels, "MODE", "fast") { 0.1 } else { 1.0 };
    let findings = planned.findings(&planned.run(12, 0.01, 1, &|_, levels, _| time(levels)));
    let text = &findings.headline.text;
    assert!(text.starts_with("A 2: ") && text.contains(" on job at MODE slow"), "{text}");
    let table = &findings.tables[0];
    assert_eq!(table.columns[..2], ["A", "MODE"]);
    assert_eq!(table.rows.len(), 4, "{table:#?}");
    assert!(table.caption.contains("Hodges–Lehmann"), "{}", table.caption);
    let places: Vec<_> = findings.comparisons.iter().map(|c| c.at["MODE"].to_string()).collect();
    assert_eq!(places, ["slow", "fast"], "each is compared");
    assert!(table.caption.contains("is a lower bound"), "{}", table.caption);
}

#[test]
fn all_bars_of_a_split_are_of_one_node() {
    let vary = [vary("env.A", &["1", "2"])];
    let study = command_study(2, &vary, &words(&["./job"])).expect("is a study");
    let planned = PlannedStudy { plan: plan_of(&study).expect("plans"), study };
    let mut run = planned.run(8, 0.0, 1, &|_, _, _| 1.0);
    for attempt in &mut run.attempts {
        attempt.readings.retain(|reading| !reading.metric.starts_with("time_"));
        // Node 0 has 3 s to do and then 1 s, node 1 has 2 s and then 5 s: over both bars node 1 has the most.
        let busy = if attempt.cell.levels["A"] == 1.into() { [3.0, 2.0] } else { [1.0, 5.0] };
        let reported = (0..2)
            .map(|node| Reading::value("time_compute", busy[node], Origin::Measured).label("node", node));
        attempt.readings.extend(reported);
    }
    let findings = planned.findings(&run);
    let split = findings.figures.iter().find(|figure| figure.name == "split").expect("is drawn");
    let computing = split.series.iter().filter(|series| series.name == "computing");
    let shown: Vec<f64> = computing.flat_map(|series| &series.points).map(|point| point.y.value).collect();
    assert_eq!(shown.iter().map(|v| v.round()).collect::<Vec<_>>(), [2.0, 5.0], "{split:#?}");
    let caption = &split.caption;
    assert!(
        caption.starts_with("Every bar is of node 1") && caption.contains("is a lower bound"),
        "{caption}"
    );
}

#[test]
fn a_margin_is_kept_with_the_study() {
    let study = command_study(1, &[vary("env.A", &["1", "2"])], &words(&["./job"])).expect("is a study");
    let margin = |study: &crosstalk_study::file::Study| -> Option<String> {
        let compare = study.experiment["command"].compare.as_ref()?;
        Some(compare.margin.as_ref()?.text().to_string())
    };
    assert_eq!(margin(&study).as_deref(), Some("2 %"));
    let study = with_margin(study, "0.5 %").expect("is a margin");
    let fault =
        with_margin(study.clone(), "0.1 %").expect_err("narrower than paired runs are sharp").to_string();
    assert!(fault.contains("0.1 %") && fault.contains("at least 0.5 %"), "{fault}");
    assert_eq!(margin(&parse(&to_toml(&study), "my.toml").expect("reads")).as_deref(), Some("0.5 %"));
    assert!(with_margin(study, "nix").is_err());
    let alone = command_study(1, &[], &words(&["./job"])).expect("is a study");
    assert!(with_margin(alone, "5 %").expect_err("nothing to compare").to_string().contains("--vary"));
}

#[test]
fn a_base_that_is_not_run_is_the_sentence() {
    let study =
        command_study(1, &[vary("env.A", &["1", "2", "3", "4"])], &words(&["./job"])).expect("is a study");
    let text = |setting: &str, claims: &str| {
        let study = parse(&format!("{}\n{claims}", to_toml(&study)), "my.toml").expect("reads");
        let set = vec![parse_setting(setting).expect("reads")];
        let study = resolve(&study, &mock::registry(), &PlanOptions { set, ..PlanOptions::default() });
        let study = study.expect("resolves");
        let planned = PlannedStudy { plan: plan_of(&study).expect("plans"), study };
        let findings = planned.findings(&planned.run(12, 0.01, 1, &|_, _, _| 1.0));
        (findings.headline.text, findings.headline.decided)
    };
    let missing = "A = 1, the base of the comparison, is not run: nothing is compared with it";
    assert_eq!(text("A=3,4", ""), (format!("{missing} (try: --set command.A=1,3,4)"), false));
    assert_eq!(text("A=3", ""), (format!("{missing} (try: --set command.A=1,3)"), false));
    let claim = r#"
        [claim.it]
        statement = "It takes less time"
        experiment = "command"
        ratio = { metric = "run_time", of = { A = 3 }, to = { A = 4 } }
        expect = "< 1"
    "#;
    let (found, _) = text("A=3,4", claim);
    assert!(found.contains(" of 1 claim decided; A = 1, the base"), "{found}");
    assert!(text("A=1,3", "").0.contains("A 3"));
}

#[test]
fn a_variable_has_its_own_name_everywhere() {
    let vary = [vary("env.LC_ALL", &["C", "POSIX"]), vary("env.N_MAX", &["1", "2"])];
    let study = command_study(1, &vary, &words(&["./job"])).expect("is a study");
    let planned = PlannedStudy { plan: plan_of(&study).expect("plans"), study };
    let findings = planned.findings(&planned.run(12, 0.01, 1, &|_, _, _| 1.0));
    let text = serde_json::to_string(&findings).expect("writes");
    assert!(text.contains("LC_ALL") && text.contains("N_MAX"), "{text}");
    assert!(!text.contains("LC ALL") && !text.contains("N MAX"), "{text}");
}

#[test]
fn no_caption_says_that_estimates_of_parts_add_up() {
    let study = command_study(2, &[vary("env.A", &["1", "2"])], &words(&["./job"])).expect("is a study");
    let planned = PlannedStudy { plan: plan_of(&study).expect("plans"), study };
    let mut run = planned.run(8, 0.01, 1, &|_, _, _| 1.0);
    for attempt in &mut run.attempts {
        let part = Reading::value("time_compute", 1.0, Origin::Measured).label("node", 0);
        attempt.readings.push(part);
    }
    let findings = planned.findings(&run);
    let stacked = findings.figures.iter().filter(|figure| figure.kind == FigureKind::Stacked);
    let captions: Vec<&String> = stacked
        .map(|figure| &figure.caption)
        .chain(findings.tables.iter().map(|table| &table.caption))
        .collect();
    assert_eq!(captions.len(), 2, "{captions:?}");
    let said = "Parts add up in each run; their estimates over all runs need not.";
    assert!(captions.iter().all(|caption| caption.contains(said)), "{captions:?}");
}
