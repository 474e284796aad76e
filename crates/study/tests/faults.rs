//! Whatever is wrong in a study file, the fault names the line, what is wrong,
//! and the nearest valid name.

use crate::mock;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::{Catalogues, PlanOptions, parse, plan};

pub const STUDY: &str = r#"schema = "crosstalk.study/1"
title = "T"
looks = [2, 4]
[experiment.e]
work.s = { kind = "stream", size = "$size" }
conditions = { system = "$system", boards = "many" }
compare = { factor = "system", base = "microblade" }
[experiment.e.factors]
size = [64, 128]
system = { levels = ["microblade", "kosmos-srio"] }
[claim.c]
statement = "s"
experiment = "e"
where = { size = 64 }
ratio = { metric = "bandwidth", of = { system = "kosmos-srio" }, to = { system = "microblade" } }
published = "kosmos/bandwidth/kosmos-srio-over-microblade/128"
expect = "> 1"
margin = "5 %"
[figure.f]
title = "F"
experiment = "e"
kind = "lines"
metric = "bandwidth"
x = "size"
series = "system"
log = ["x"]
published = "kosmos/bandwidth/{system}-over-microblade/{size}"
"#;

pub fn planned(text: &str) -> Result<(), Fault> {
    let study = parse(text, "my.toml")?;
    plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default()).map(|_| ())
}

/// The fault after replacing `from` by `to`.
fn fault(from: &str, to: &str) -> String {
    assert!(STUDY.contains(from), "nothing to replace: {from}");
    let fault = planned(&STUDY.replacen(from, to, 1)).expect_err(to);
    assert_eq!(fault.kind, FaultKind::Usage);
    fault.to_string()
}

#[track_caller]
pub fn expect(from: &str, to: &str, line: usize, says: &str, remedy: &str) {
    let fault = fault(from, to);
    assert!(fault.starts_with(&format!("my.toml:{line}: ")), "not on line {line}: {fault}");
    assert!(fault.contains(says), "does not say `{says}`: {fault}");
    assert!(fault.contains(remedy), "does not suggest `{remedy}`: {fault}");
}

#[test]
fn the_study_is_right_before_it_is_spoilt() {
    planned(STUDY).expect("plans");
}

#[test]
fn another_schema_or_none() {
    expect(
        "study/1",
        "study/2",
        1,
        "schema `crosstalk.study/2` is not known",
        "use the version of Crosstalk",
    );
    expect("schema = \"crosstalk.study/1\"", "", 1, "names its schema", "schema = \"crosstalk.study/1\"");
}

#[test]
fn unknown_keys() {
    expect("title = \"T\"", "titel = \"T\"", 2, "unknown key `titel`", "did you mean `title`?");
    expect("statement", "statment", 12, "unknown key `statment`", "did you mean `statement`?");
    expect("{ levels =", "{ level =", 10, "unknown key `level`", "did you mean `levels`?");
    expect("title = \"T\"", "", 1, "missing key `title`", "");
}

#[test]
fn text_that_is_not_toml() {
    expect("[2, 4]", "[2, 4", 4, "expected `,`", "");
}

#[test]
fn looks_that_do_not_ascend() {
    for looks in ["[4, 2]", "[0]", "[]", "[2, 2]"] {
        expect("[2, 4]", looks, 3, "expected interim analyses (looks) that ascend", "looks = [12, 24, 48]");
    }
    expect("[2, 4]", "[-1]", 3, "expected a whole number of at least 0, found the number `-1`", "");
}

#[test]
fn what_is_decided_on_runs_as_long_as_the_study() {
    let compared = "compare = { factor = \"system\", base = \"microblade\" }";
    expect(
        compared,
        &format!("{compared}\nblocks = 1"),
        8,
        "say how long an experiment runs",
        "leave `blocks` out",
    );
    expect(compared, "blocks = 1", 7, "has a primary claim", "write primary = false");
    expect(compared, "blocks = 0", 7, "at least 1 block", "");
    let secondary = STUDY.replace(compared, "blocks = 8").replace("margin =", "primary = false\nmargin =");
    planned(&secondary).expect("a secondary claim is judged by itself");
}

#[test]
fn unknown_parts_of_a_scene() {
    expect("\"stream\"", "\"strem\"", 5, "unknown workload `strem`", "did you mean `stream`?");
    expect(
        "size = \"$size\"",
        "sise = 1",
        5,
        "unknown parameter of `stream`: `sise`",
        "did you mean `size`?",
    );
    expect("boards =", "bords =", 6, "unknown condition `bords`", "did you mean `boards`?");
    expect(
        "[experiment.e.factors]",
        "observe = [\"pressur\"]\n[experiment.e.factors]",
        8,
        "unknown observer",
        "`pressure`",
    );
}

#[test]
fn unknown_factors_and_levels() {
    expect("$size", "$sise", 5, "unknown factor `$sise`", "did you mean `$size`?");
    expect("where = { size", "where = { sise", 14, "unknown factor `sise`", "did you mean `size`?");
    expect("size = 64", "size = 65", 14, "factor `size` has no level `65`", "one of: 64, 128");
    expect(
        "base = \"microblade\"",
        "base = \"micro\"",
        7,
        "factor `system` has no level `micro`",
        "kosmos-srio",
    );
    expect("x = \"size\"", "x = \"sise\"", 24, "unknown factor `sise`", "did you mean `size`?");
    expect("[64, 128]", "[64, 64]", 9, "level `64` is listed twice", "");
    expect("[64, 128]", "[]", 9, "a factor needs its levels", "{ discover = \"cores\" }");
    expect("[64, 128]", "64", 9, "expected a list of levels, or a table", "");
}

#[test]
fn sizes_of_zero_or_below() {
    let fault = fault("size = \"$size\"", "size = 0");
    assert!(fault.starts_with("my.toml:5, parameter `size`: expected a size above zero"), "{fault}");
}

#[test]
fn unknown_systems_fabrics_and_placements() {
    expect("system = \"$system\"", "system = \"kosmos\"", 6, "unknown system `kosmos`", "kosmos-srio");
    expect("boards = \"many\"", "boards = \"few\"", 6, "unknown placement on boards `few`", "one");
}

#[test]
fn virtual_and_real_time_mixed_up() {
    expect("boards = \"many\"", "fabric = \"srio\"", 6, "`stream` runs in virtual time", "replace `fabric`");
    expect("system = \"$system\", ", "", 6, "needs a system", "add conditions.system");
    let either = "work.s = { kind = \"pagerank\", scale = \"$size\" }\nconditions.boards = \"many\"";
    let conditions_of_stream = "work.s = { kind = \"stream\", size = \"$size\" }\nconditions = { system = \"$system\", boards = \"many\" }";
    expect(conditions_of_stream, either, 6, "`pagerank` needs a system, or a fabric", "conditions.fabric");
    let real = "work.s = { kind = \"latency\", size = \"$size\" }";
    let virtual_work = "work.s = { kind = \"stream\", size = \"$size\" }";
    let conditions = "conditions = { system = \"$system\", boards = \"many\" }";
    let boards = format!("{real}\nconditions.boards = \"many\"");
    let scene = format!("{virtual_work}\n{conditions}");
    expect(&scene, &boards, 6, "`latency` runs in real time, where `boards` means nothing", "fabric = ");
    let both = format!("{real}\nconditions = {{ system = \"moonshot\", fabric = \"srio\" }}");
    expect(&scene, &both, 6, "a system has a fabric of its own", "leave out `system` or `fabric`");
    let both = format!("{virtual_work}\nwork.t = {{ kind = \"latency\" }}");
    expect(virtual_work, &both, 6, "cannot share a scene", "experiments of their own");
    let limited = format!("{real}\nconditions.memory = \"1 GB\"");
    expect(&scene, &limited, 6, "`latency` runs in real time, where `memory` means nothing", "leave it out");
}

#[test]
fn more_nodes_than_a_board_holds() {
    let pagerank = "work.s = { kind = \"pagerank\", slaves = 4, scale = \"$size\" }";
    let text = STUDY
        .replace("work.s = { kind = \"stream\", size = \"$size\" }", pagerank)
        .replace("\"many\"", "\"one\"")
        .replace("metric = \"bandwidth\"", "metric = \"completion_time\"");
    let fault = planned(&text).expect_err("does not fit").to_string();
    assert!(fault.starts_with("my.toml:6: 5 nodes do not fit on one board"), "{fault}");
}

#[test]
fn claims_that_no_data_could_refute_or_that_do_not_read() {
    expect("expect = \"> 1\"", "expect = \"1\"", 17, "expected a predicate, found `1`", "\"> 1\"");
    expect("margin = \"5 %\"", "margin = \"5\"", 18, "expected a margin above zero", "\"5 %\"");
    let two = "trend = { metric = \"bandwidth\", along = \"size\" }\nratio =";
    expect("ratio =", two, 11, "found ratio and trend", "give one of: ratio, trend");
    expect("expect = \"> 1\"\nmargin = \"5 %\"", "", 11, "it expects nothing", "expect = \"> 1\"");
    expect(
        "experiment = \"e\"\nwhere",
        "experiment = \"f\"\nwhere",
        13,
        "unknown experiment `f`",
        "one of: e",
    );
}

#[test]
fn claims_about_several_experiments() {
    let to = "to = { system = \"microblade\" }";
    expect(to, &format!("{to}, over = \"f\""), 15, "unknown experiment `f`", "one of: e");
    expect(to, &format!("{to}, over = \"e\""), 15, "names experiment `e` already", "name another one");
    let ratio = "ratio = { metric = \"bandwidth\", of = { system = \"kosmos-srio\" }, to = { system = \"microblade\" } }";
    let correlation =
        |x: &str, rest: &str| format!("correlation = {{ x = \"{x}\", y = \"bandwidth\"{rest} }}");
    let with = correlation("bandwidth", ", with = [\"f\"]");
    expect(ratio, &with, 15, "unknown experiment `f`", "one of: e");
    let sides = correlation("bandwidth", ", ratio = { of = { sistem = \"microblade\" }, to = {} }");
    expect(ratio, &sides, 15, "unknown factor `sistem`", "did you mean `system`?");
    let share = STUDY.replacen(ratio, &correlation("share bandwidth", ""), 1).replacen("> 1", "> 0", 1);
    let fault = planned(&share).expect_err("refused").to_string();
    assert!(fault.starts_with("my.toml:15: ") && fault.contains("found `bandwidth`"), "{fault}");
    assert!(fault.contains("reports none: leave `share` out"), "{fault}");
}

#[test]
fn unknown_metrics_and_published_values() {
    expect(
        "metric = \"bandwidth\", of",
        "metric = \"bandwith\", of",
        15,
        "unknown metric",
        "did you mean `bandwidth`?",
    );
    expect("metric = \"bandwidth\"\nx", "metric = \"b\"\nx", 23, "unknown metric `b`", "one of: bandwidth");
    expect("\"lines\"", "\"split\"", 23, "no metric of experiment `e` is a part of `bandwidth`", "bandwidth");
    expect("microblade/128\"", "microblade/12\"", 16, "unknown published value", "microblade/128");
    expect(
        "-over-microblade/{size}",
        "-under-microblade/{size}",
        27,
        "unknown published value",
        "did you mean",
    );
    expect(
        "published = \"kosmos/bandwidth/kosmos",
        "published = true #",
        16,
        "expected a number or the id",
        "",
    );
}

#[test]
fn a_result_that_waits_for_itself() {
    let from = "{ from = { experiment = \"e\", metric = \"bandwidth\", factor = \"system\" } }";
    expect("[64, 128]", from, 9, "waits for its own result", "");
    expect("[64, 128]", &from.replace("\"e\"", "\"f\""), 9, "unknown experiment `f`", "one of: e");
}

#[test]
fn a_name_that_leads_out_of_the_folder_of_runs() {
    expect("title = \"T\"", "title = \"T\"\nname = \"../../x\"", 3, "name without slashes", "");
    let fabric = include_str!("../../../fabrics/srio.toml");
    let fault =
        Catalogues::new().add_fabric("f", &format!("name = \"a/b\"\n{fabric}"), "f.toml").expect_err("leads");
    assert!(fault.to_string().starts_with("f.toml:1: expected a fabric's name"), "{fault}");
}

#[test]
fn more_cells_than_could_ever_be_run_are_refused_before_they_are_made() {
    let levels = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let more: String = ["a", "b", "c", "d", "e"].map(|name| format!("{name} = [{levels}]\n")).concat();
    expect(
        "size = [64, 128]\n",
        &format!("size = [64, 128]\n{more}"),
        8,
        "expected at most 10000",
        "fewer levels",
    );
}

#[test]
fn wrong_numbers_and_names_in_a_fabric_or_a_system() {
    let mut catalogues = Catalogues::new();
    let fabric = "title = \"T\"\nrate = \"1 Gbits/s\"\nsource = {}\ncosts = { L = \"1 s\", o = \"1 s\", g = \"1 s\", G = \"1 s\" }";
    let fault = catalogues.add_fabric("f", fabric, "f.toml").expect_err("no such unit").to_string();
    assert!(fault.starts_with("f.toml:2: unknown unit `Gbits/s`"), "{fault}");
    assert!(fault.contains("did you mean `Gbit/s`?"), "{fault}");
    let fault =
        catalogues.add_fabric("f", &fabric.replace("g =", "gg ="), "f.toml").expect_err("no such cost");
    assert_eq!(fault.place.as_deref(), Some("f.toml:4"));
    let fault =
        catalogues.add_fabric("f", &fabric.replace("1 Gbits/s", "0 bit/s"), "f.toml").expect_err("still");
    assert_eq!(fault.to_string(), "f.toml:2: expected a rate of at least 8 bit/s, found 0 bit/s");
    let fault =
        catalogues.add_fabric("none", &fabric.replace("Gbits", "Gbit"), "none.toml").expect_err("taken");
    assert!(fault.message.contains("links that are not shaped"), "{fault}");

    let system = include_str!("../../../systems/moonshot.toml");
    let empty = system.replace("count = 45", "count = 0");
    let fault = catalogues.add_system("s", &empty, "s.toml").expect_err("no room");
    assert!(fault.message.contains("one node a board"), "{fault}");
    let still = system.replace("speed = 0.065", "speed = 0");
    let fault = catalogues.add_system("s", &still, "s.toml").expect_err("stands still");
    assert_eq!(fault.to_string(), "s.toml:2: expected a speed above zero, found 0");
    let stuck = system.replace("rate = \"88 MB/s\"", "rate = 0");
    let fault = catalogues.add_system("s", &stuck, "s.toml").expect_err("a disk that stands still");
    assert_eq!(fault.to_string(), "s.toml:2: expected a disk with a rate above zero, found 0 bit/s");
    let early = system.replace("latency = \"11.9 ms\"", "latency = -1");
    let fault = catalogues.add_system("s", &early, "s.toml").expect_err("before it was asked");
    assert_eq!(fault.to_string(), "s.toml:2: expected a duration, found `-1`");
}

#[test]
fn links_that_no_network_has() {
    let with = |more: &str| format!("boards = \"many\", {more} }}");
    let at = "boards = \"many\" }";
    expect(at, &with("rate = 10"), 6, "needs a unit, found `10`", "2.5 Gbit/s");
    expect(at, &with("rate = \"0 Gbit/s\""), 6, "more than zero", "");
    expect(at, &with("rate = \"-1 Gbit/s\""), 6, "found `-1 Gbit/s`", "");
    expect(at, &with("latency = \"5 parsecs\""), 6, "unknown unit `parsecs`", "");
    planned(&STUDY.replacen(at, &with("rate = \"100 Gbit/s\", latency = \"1 µs\""), 1)).expect("plans");
}

#[test]
fn memory_that_no_node_has() {
    let with = |more: &str| format!("boards = \"many\", {more} }}");
    let at = "boards = \"many\" }";
    expect(at, &with("memory = 10"), 6, "needs a unit, found `10`", "64 KiB");
    expect(at, &with("memory = \"0 GB\""), 6, "more than zero", "");
    expect(at, &with("memory = \"-1 GB\""), 6, "found `-1 GB`", "");
    planned(&STUDY.replacen(at, &with("memory = \"256 MiB\""), 1)).expect("plans");
}

#[test]
fn libraries_and_ranks_that_no_node_has() {
    let with = |more: &str| format!("boards = \"many\", {more} }}");
    let at = "boards = \"many\" }";
    expect(
        at,
        &with("mpi = \"mvapich-0.9.5\""),
        6,
        "unknown MPI profile `mvapich-0.9.5`",
        "`mvapich-0.9.4`?",
    );
    expect(
        at,
        &with("ranks = 0"),
        6,
        "expected a number of ranks a node, at least 1, found `0`",
        "ranks = 2",
    );
    expect(at, &with("ranks = 1.5"), 6, "at least 1, found `1.5`", "ranks = 2");
    expect(at, &with("ranks = \"all\""), 6, "at least 1, found `all`", "ranks = 2");
    expect(at, &with("ranks = 2"), 6, "has no fabric between ranks of one node", "leave `ranks` out");
    expect(at, &with("ranks = 100"), 6, "100 ranks do not fit on a node of `microblade`", "fewer ranks");
    planned(&STUDY.replacen(at, &with("mpi = \"none\", ranks = 1"), 1)).expect("plans");
    let real = STUDY.replacen("kind = \"stream\"", "kind = \"latency\"", 1);
    for condition in ["mpi = \"none\"", "ranks = 1"] {
        let fault = planned(&real.replacen(at, &with(condition), 1)).expect_err("refused").to_string();
        let name = condition.split(' ').next().expect("has one");
        assert!(fault.starts_with("my.toml:6: `latency` runs in real time, where"), "{fault}");
        assert!(
            fault.contains(&format!("`{name}` means nothing")) && fault.contains("leave it out"),
            "{fault}"
        );
    }
}

#[test]
fn marks_without_a_place() {
    expect("log = [\"x\"]", "marks = { here = \"soon\" }", 26, "axis' unit, found `soon`", "");
    expect(
        "kind = \"lines\"\nmetric = \"bandwidth\"\nx = \"size\"\nseries = \"system\"\nlog = [\"x\"]",
        "kind = \"bars\"\nmetric = \"bandwidth\"\nx = \"size\"\nseries = \"system\"\nmarks = { here = 64 }",
        26,
        "figures of lines",
        "",
    );
    planned(&STUDY.replacen("log = [\"x\"]", "marks = { here = \"64 B\" }", 1)).expect("plans");
}

#[test]
fn a_figure_of_nodes_has_no_series_and_every_other_one() {
    let drawn = "kind = \"lines\"\nmetric = \"bandwidth\"\nx = \"size\"\nseries = \"system\"";
    let nodes = "kind = \"nodes\"\nmetric = \"bandwidth\"\nx = \"size\"";
    expect(drawn, &format!("{nodes}\nseries = \"system\""), 25, "are the nodes", "leave `series` out");
    expect("series = \"system\"\nlog", "log", 19, "missing `series`", "the factor");
    expect(drawn, nodes, 23, "is a part of `bandwidth`", "its metrics are bandwidth");
}

#[test]
fn a_frontier_is_of_two_metrics_that_tell_good_from_bad() {
    let drawn = "kind = \"lines\"\nmetric = \"bandwidth\"\nx = \"size\"\nseries = \"system\"\nlog = [\"x\"]\npublished = \"kosmos/bandwidth/{system}-over-microblade/{size}\"";
    let frontier = "kind = \"frontier\"\nmetric = \"bandwidth\"\nx = \"bandwidth\"\nseries = \"system\"";
    planned(&STUDY.replacen(drawn, frontier, 1)).expect("plans");
    expect(drawn, &frontier.replace("x = \"bandwidth\"", "x = \"size\""), 24, "unknown metric `size`", "");
    expect(drawn, &frontier.replace("\nseries = \"system\"", ""), 19, "missing `series`", "the factor");
    let more = |line: &str| format!("{frontier}\n{line}");
    expect(drawn, &more("also = [\"bandwidth\"]"), 26, "is of two metrics", "leave `also` out");
    expect(drawn, &more("published = \"kosmos/x\""), 26, "no place in a frontier", "leave `published` out");
    let neither = STUDY
        .replacen("kind = \"stream\", size = \"$size\"", "kind = \"wire\", size = \"$size\"", 1)
        .replacen(drawn, &frontier.replace("bandwidth", "stage_time"), 1)
        .replace("metric = \"bandwidth\"", "metric = \"one_way\"");
    let fault = planned(&neither).expect_err("refused").to_string();
    assert!(fault.contains("neither more nor less of `stage_time` is better"), "{fault}");
}

#[test]
fn what_is_compared_must_make_a_difference() {
    let (taken, fixed) = ("system = \"$system\"", "system = \"microblade\"");
    expect(taken, fixed, 10, "nothing uses factor `system`", "\"$system\"");
}

#[test]
fn claims_that_no_data_could_decide() {
    let sides = "of = { system = \"kosmos-srio\" }, to = { system = \"microblade\" }";
    let same = "of = { system = \"microblade\" }, to = { system = \"microblade\" }";
    expect(sides, same, 15, "are the same cells", "name the level on each side");
    expect(
        "where = { size = 64 }",
        "where = { system = \"microblade\" }",
        15,
        "another level than",
        "leave `system` out",
    );
    let ratio = format!("ratio = {{ metric = \"bandwidth\", {sides} }}");
    let order = |levels: &str| {
        format!("order = {{ metric = \"bandwidth\", factor = \"size\", ascending = {levels} }}")
    };
    expect(&ratio, &order("[64]"), 15, "at least 2 levels, found 1", "");
    expect(&ratio, &order("[64, 64]"), 15, "named twice", "");
    expect(
        &ratio,
        "peak = { metric = \"bandwidth\", along = \"size\", among = [] }",
        15,
        "at least 1 level",
        "",
    );
    let trend = "trend = { metric = \"bandwidth\", along = \"system\", beyond = { size = 64 } }";
    expect(&ratio, trend, 15, "the claim's own cells", "name the level");
    let correlated = STUDY.replacen(&ratio, "correlation = { x = \"bandwidth\", y = \"bandwidth\" }", 1);
    let fault = planned(&correlated.replacen("> 1", "> 2", 1)).expect_err("refused").to_string();
    assert!(fault.starts_with("my.toml:17: ") && fault.contains("between -1 and 1"), "{fault}");
}

#[test]
fn a_label_stands_where_a_factor_does_but_not_where_cells_are_named() {
    let x = |of: &str| STUDY.replacen("x = \"size\"", &format!("x = \"{of}\""), 1);
    assert_eq!(planned(&x("[offered]")), Ok(()));
    assert!(
        planned(&x("offered")).expect_err("is no factor").to_string().contains("unknown factor `offered`")
    );
    let compare = "compare = { factor = \"system\"";
    expect(compare, "compare = { factor = \"[stage]\"", 7, "unknown factor `[stage]`", "system");
    let lines = "kind = \"lines\"\nmetric = \"bandwidth\"\nx = \"size\"";
    let split = "kind = \"split\"\nmetric = \"bandwidth\"\nx = \"[stage]\"";
    expect(lines, split, 24, "unknown factor `[stage]`", "size");
}

#[test]
fn a_table_has_columns_of_one_kind() {
    let table = |columns: &str| {
        format!("{STUDY}[table.t]\ntitle = \"T\"\nexperiment = \"e\"\nrows = \"size\"\n{columns}\n")
    };
    let refused = |columns: &str| planned(&table(columns)).expect_err(columns).to_string();
    let one = "column = [{ title = \"b\", metric = \"bandwidth\" }]";
    assert_eq!(planned(&table(one)), Ok(()));
    assert_eq!(planned(&table("metric = \"bandwidth\"\ncolumns = \"system\"")), Ok(()));
    let two = |rows: &str| table(one).replace("rows = \"size\"", &format!("rows = {rows}"));
    assert_eq!(planned(&two("[\"system\", \"size\"]")), Ok(()));
    assert!(planned(&two("[\"system\", \"sise\"]")).expect_err("refused").to_string().contains("`size`"));
    assert!(
        refused("column = [{ title = \"b\", metric = \"bandwidth\", relative_to = { size = 65 } }]")
            .contains("no level `65`")
    );
    assert!(refused("").contains("`metric` and `columns`, or a list of `column`"));
    assert!(refused(&format!("metric = \"bandwidth\"\n{one}")).contains("each column by itself"));
    assert!(refused("column = [{ title = \"b\" }]").contains("give one of: metric, published"));
    assert!(
        refused("column = [{ title = \"b\", metric = \"bandwith\" }]").contains("did you mean `bandwidth`?")
    );
    assert!(
        refused("column = [{ title = \"b\", published = \"kosmos/{nodes}\" }]").contains("unknown factor")
    );
    assert!(
        refused("column = [{ title = \"b\", published = \"kosmos/x\" }]").contains("unknown published value")
    );
}
