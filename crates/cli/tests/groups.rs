//! `crosstalk groups` on this machine's control groups. Each test has a registry of its
//! own, and names of its own. Skipped where no control groups can be made.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{command, finish, kill, stderr, stdout};

#[test]
fn groups_are_made_listed_and_removed() {
    let Some(registry) = Registry::new("made") else { return };
    let (lab, web) = (registry.named("lab"), registry.named("web"));
    let (alice, bob) = (format!("{lab}/alice"), format!("{lab}/bob"));
    registry.done(&["groups", "create", &lab, &alice, &bob, &web]);
    assert_eq!(registry.listed(), [&lab, &alice, &bob, &web].map(String::from));
    let trees = registry.dirs(&lab).len();
    assert!(trees > 0 && registry.dirs(&alice).len() == trees, "in each tree");
    let table = registry.done(&["groups", "list"]);
    assert!(
        table.contains(&alice) && table.contains("burstable") && table.contains("0 processes"),
        "{table}"
    );
    let said = registry.done(&["groups", "remove", &lab]);
    assert!(said.contains(&alice) && said.contains(&bob), "those in it go with it: {said}");
    assert_eq!(registry.listed(), [web.as_str()]);
    assert!(registry.dirs(&lab).is_empty());
    registry.done(&["groups", "remove", "--all"]);
    assert!(registry.listed().is_empty() && registry.left().is_empty());
    assert!(registry.done(&["groups", "remove", "--all"]).contains("There are no groups"));
    assert!(registry.done(&["groups", "list"]).contains("There are no groups"));
}

#[test]
fn many_are_numbered() {
    let Some(registry) = Registry::new("many") else { return };
    let user = registry.named("user");
    let said = registry.done(&["groups", "create", &user, "--count", "60"]);
    assert!(said.contains(&format!("{user}-0")) && said.contains("56 more"), "{said}");
    let expected: Vec<String> = (0..60).map(|number| format!("{user}-{number}")).collect();
    assert_eq!(registry.listed(), expected, "in the order of their numbers");
    registry.done(&["groups", "remove", "--all"]);
    assert!(registry.left().is_empty());
}

#[test]
fn profiles_are_set_and_what_v1_lacks_is_said() {
    let Some(registry) = Registry::new("profiles") else { return };
    let [db, app, rest] = ["db", "app", "rest"].map(|name| registry.named(name));
    let guaranteed = ["--profile", "guaranteed", "--memory", "64 MiB", "--cpus", "0.5"];
    let output = registry.run(&[&["groups", "create", &db], &guaranteed[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let limit = registry.setting(&db, &["memory.max", "memory.limit_in_bytes"]);
    assert_eq!(limit.as_deref(), Some("67108864"));
    let weight = registry.setting(&db, &["cpu.weight", "cpu.shares"]);
    assert!(["50", "512"].contains(&weight.as_deref().expect("is offered")), "{weight:?}");
    let quota = registry.setting(&db, &["cpu.max", "cpu.cfs_quota_us"]);
    assert!(quota.as_deref().is_some_and(|quota| quota.starts_with("50000")), "{quota:?}");
    let protects = registry.setting(&db, &["memory.min"]);
    match protects.as_deref() {
        Some(min) => assert_eq!((min, stderr(&output).as_str()), ("67108864", "")),
        None => {
            let said = stderr(&output);
            assert!(said.contains("limited but not protected: v1 has no memory.min"), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
    let burstable = ["--memory", "64 MiB", "--memory-limit", "128 MiB", "--cpus", "2"];
    let output = registry.run(&[&["groups", "create", &app], &burstable[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output).contains("v1 has no memory.low"), protects.is_none(), "{}", stderr(&output));
    let limit = registry.setting(&app, &["memory.max", "memory.limit_in_bytes"]);
    assert_eq!(limit.as_deref(), Some("134217728"));
    let output = registry.run(&["groups", "create", &rest, "--profile", "besteffort"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let idle = registry.setting(&rest, &["cpu.idle"]);
    assert!(idle.is_none() || idle.as_deref() == Some("1"), "{idle:?}");
    let table = registry.done(&["groups", "list"]);
    assert!(table.contains("0.5 at most") && table.contains("share of 2"), "{table}");
    let groups = registry.lines(&["groups", "list"]);
    let group = groups.iter().find(|line| line["name"] == db.as_str()).expect("is listed");
    assert_eq!(group["registered"]["profile"], "guaranteed");
    assert_eq!((&group["registered"]["memory"], &group["limit"]), (&67_108_864.into(), &67_108_864.into()));
    assert_eq!(group["exists"], "whole");
}

#[test]
fn before_all_is_killed_a_person_is_asked() {
    let Some(registry) = Registry::new("asked") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    registry.done(&["exec", "--group", &lab, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 &"]);
    let on_terminal = |options: &str, answer: &str| {
        let shell = format!("{} groups remove --all {options}", env!("CARGO_BIN_EXE_crosstalk"));
        let mut start = Command::new("script");
        start.args(["-qec", &shell, "/dev/null"]).env("XDG_RUNTIME_DIR", registry.folder.path());
        start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = start.spawn().ok()?;
        let mut input = child.stdin.take().expect("is piped");
        input.write_all(answer.as_bytes()).expect("it listens");
        let output = finish(child);
        drop(input);
        Some((output.status.code(), stdout(&output)))
    };
    let Some((code, said)) = on_terminal("--kill", "n\n") else {
        eprintln!("skipped: there is no script(1) here");
        return;
    };
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("kill 1 process in them? [y/N]") && said.contains("nothing is removed"), "{said}");
    assert_eq!(registry.listed(), [lab.as_str()]);
    let (code, said) = on_terminal("--kill", "y\n").expect("there is one");
    assert_eq!(code, Some(0), "{said}");
    assert!(registry.listed().is_empty() && registry.left().is_empty());
    registry.done(&["groups", "create", &lab]);
    registry.done(&["exec", "--group", &lab, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 &"]);
    let (code, said) = on_terminal("--kill --yes", "").expect("there is one");
    assert_eq!((code, said.contains("[y/N]")), (Some(0), false), "{said}");
}

#[test]
fn show_counts_what_a_group_uses() {
    let Some(registry) = Registry::new("show") else { return };
    let (busy, quiet, often) = (registry.named("busy"), registry.named("quiet"), registry.named("often"));
    registry.done(&["groups", "create", &busy, &quiet, &often, "--memory-limit", "1 GiB"]);
    // It gets a processor again and again.
    let script = "while :; do sleep 0.01; done";
    let waker = Running::start(registry.command(&["exec", "--group", &often, "--", "sh", "-c", script]));
    await_that("it waits for a processor", || {
        let shown = registry.lines(&["groups", "show", &often]);
        shown[0]["rates"]["delay"].as_f64().is_some_and(|delay| (0.0..60.0).contains(&delay))
    });
    waker.end();
    let spin = registry.command(&["exec", "--group", &busy, "--", "sh", "-c", "while :; do :; done"]);
    let spinner = Running::start(spin);
    await_that("it spins", || {
        let shown = registry.lines(&["groups", "show", &busy]);
        shown[0]["rates"]["processors"].as_f64().is_some_and(|processors| processors > 0.0)
    });
    let shown = registry.lines(&["groups", "show"]);
    let of = |name: &str| shown.iter().find(|line| line["name"] == name).expect("is shown");
    assert_eq!((&of(&busy)["processes"], &of(&quiet)["processes"]), (&1.into(), &0.into()));
    assert!(of(&busy)["cpu"].as_f64() > of(&quiet)["cpu"].as_f64(), "{shown:#?}");
    assert!(of(&busy)["working_set"].as_u64() <= of(&busy)["memory"].as_u64());
    assert_eq!(shown.last().expect("a result")["groups"], 3);
    assert_eq!(of(&quiet)["rates"]["delay"], Value::Null, "nobody is in it");
    let table = registry.done(&["groups", "show"]);
    assert!(
        table.contains("working set") && table.contains("delay") && table.contains(" of 1 GiB"),
        "{table}"
    );
    spinner.end();
}

#[test]
fn a_terminal_shows_idle_groups_on_one_line() {
    let Some(registry) = Registry::new("idle") else { return };
    let [busy, first, second] = ["busy", "first", "second"].map(|name| registry.named(name));
    registry.done(&["groups", "create", &busy, &first, &second]);
    let spin = registry.command(&["exec", "--group", &busy, "--", "sh", "-c", "while :; do :; done"]);
    let spinner = Running::start(spin);
    let show = format!("{} groups show", env!("CARGO_BIN_EXE_crosstalk"));
    let on_terminal = || {
        let mut start = Command::new("script");
        start.args(["-qec", &show, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
        start.env("XDG_RUNTIME_DIR", registry.folder.path()).output().ok().map(|output| stdout(&output))
    };
    if on_terminal().is_none() {
        eprintln!("skipped: there is no `script`");
        spinner.end();
        return;
    }
    await_that("it spins", || {
        on_terminal().is_some_and(|shown| {
            shown.contains(&format!("2 idle groups have 0 B of memory: {first}, {second}"))
        })
    });
    let table = registry.done(&["groups", "show"]);
    assert!(table.contains(&first) && !table.contains("idle groups"), "{table}");
    assert!(table.contains("waits: CPU/memory/disk"), "{table}");
    spinner.end();
}

#[test]
fn show_goes_on_with_watch_while_groups_come_and_go() {
    let Some(registry) = Registry::new("watch") else { return };
    let [first, second] = ["first", "second"].map(|name| registry.named(name));
    registry.done(&["groups", "create", &first]);
    let mut start = registry.command(&["groups", "show", "--watch", "--json"]);
    let said = registry.folder.path().join("said");
    start.stdout(fs::File::create(&said).expect("makes"));
    let mut child = start.spawn().expect("starts");
    let says =
        |name: &str| fs::read_to_string(&said).expect("reads").contains(&format!("\"name\":\"{name}\""));
    await_that("it shows the group", || says(&first));
    registry.done(&["groups", "create", &second]);
    registry.done(&["groups", "remove", &first]);
    await_that("it shows the other one", || says(&second));
    kill("-INT", child.id());
    assert_eq!(child.wait().expect("is ours").code(), Some(0));
    let text = fs::read_to_string(&said).expect("reads");
    assert!(text.lines().last().is_some_and(|line| line.contains("\"result\":\"groups\"")), "{text}");
}

#[test]
fn commands_that_make_no_group_create_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (args, code) in [
        (&["groups", "list"][..], 0),
        (&["groups", "show"], 0),
        (&["groups", "show", "no-such-group"], 2),
        (&["groups", "remove", "no-such-group"], 2),
        (&["exec", "--group", "no-such-group", "--", "true"], 2),
    ] {
        let mut start = command(Path::new("/"), args);
        start.env("XDG_RUNTIME_DIR", folder.path());
        let output = finish(start.spawn().expect("starts"));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(fs::read_dir(folder.path()).expect("is there").next().is_none(), "{args:?}");
    }
}

#[test]
fn show_with_watch_ends_when_its_reader_does() {
    let Some(registry) = Registry::new("reader") else { return };
    registry.done(&["groups", "create", &registry.named("lab")]);
    for format in [&[][..], &["--json"]] {
        let mut start = registry.command(&[&["groups", "show", "--watch"], format].concat());
        let mut child = start.stdout(Stdio::piped()).spawn().expect("starts");
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        let mut first = String::new();
        output.read_line(&mut first).expect("has a line");
        drop(output);
        let mut code = None;
        await_that("it ends", || {
            code = child.try_wait().expect("is ours");
            code.is_some()
        });
        assert_eq!(code.and_then(|code| code.code()), Some(0), "{format:?}: {first}");
    }
}

#[test]
fn wrong_input_is_refused_with_a_remedy() {
    let Some(registry) = Registry::new("wrong") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    let near = format!("did you mean `{lab}`?");
    let new = registry.named("new");
    let long = "x".repeat(65);
    for (args, said) in [
        (&["groups", "create", &new, "--profile", "golden"][..], &["golden", "besteffort"][..]),
        (&["groups", "create", &new, "--memory", "1 MB"], &["--memory", "at least 1 MiB"]),
        (&["groups", "create", &new, "--memory-limit", "0 B"], &["--memory-limit", "at least 1 MiB"]),
        (&["groups", "create", &new, "--memory", "7"], &["--memory", "unit"]),
        (&["groups", "create", &new, "--cpus", "-1"], &["--cpus", "0.01"]),
        (&["groups", "create", &new, "--profile", "guaranteed"], &["--memory '2 GiB'"]),
        (&["groups", "create", &new, "--profile", "besteffort", "--cpus", "1"], &["--cpus", "burstable"]),
        (&["groups", "create", "../x"], &["expected a name of letters", "`../x`"]),
        (&["groups", "create", "a b"], &["expected a name"]),
        (&["groups", "create", "a\u{1b}[2J"], &["expected a name", "\\u{1b}"]),
        (&["groups", "create", &long], &["64 characters"]),
        (&["groups", "create", &lab], &["there is a group", "crosstalk groups set"]),
        (&["groups", "create", &new, &new], &["named twice"]),
        (&["groups", "create", "elsewhere/alice"], &["unknown group", "crosstalk groups create elsewhere"]),
        (&["groups", "create", &format!("{lab}x/alice")], &[near.as_str()]),
        (&["groups", "create", &format!("{lab}/tasks")], &["the kernel has a file of this name"]),
        (&["groups", "create", &new, "--count", "0"], &["--count"]),
        (&["groups", "create", &new, "b", "--count", "2"], &["--count", "one name"]),
        (&["groups", "create", &new, "--user", "no/such\u{1b}user"], &["--user", "unknown user"]),
        (
            &["groups", "create", &new, "--profile", "guaranteed", "--memory", "1000 TiB"],
            &["guaranteed memory adds up to", "this machine has"],
        ),
        (&["groups", "set", &format!("{lab}x"), "--cpus", "1"], &[near.as_str()]),
        (&["groups", "set", &lab], &["there is nothing to change"]),
        (&["groups", "set", &lab, "--cpus", "lots"], &["--cpus", "or none", "`lots`"]),
        (&["groups", "set", &lab, "--processes", "0"], &["--processes", "1 to 4194304"]),
        (&["groups", "set", &lab, "--memory-limit", "1 MB"], &["--memory-limit", "at least 1 MiB"]),
        (&["groups", "set", &lab, "--profile", "guaranteed"], &["--memory '2 GiB'"]),
        (
            &["groups", "set", &lab, "--profile", "guaranteed", "--memory", "1000 TiB"],
            &["guaranteed memory adds up to", "this machine has"],
        ),
        (&["groups", "remove", &format!("{lab}x")], &[near.as_str()]),
        (&["groups", "show", &format!("{lab}x")], &[near.as_str()]),
        (&["exec", "--group", &format!("{lab}x"), "--", "true"], &[near.as_str()]),
        (&["exec", "--group", "..", "--", "true"], &["--group", "expected a name"]),
        (&["exec", "--group", &lab, "--", "/no/such/program"], &["/no/such/program", "PATH"]),
        (&["exec", "--group", &lab, "--", ""], &["there is no command"]),
        (&["exec", "--group", &lab, "--memory", "1 GiB", "--", "true"], &["--memory"]),
    ] {
        let output = registry.run(args);
        let text = stderr(&output);
        if args[2].ends_with("/tasks") && output.status.code() == Some(0) {
            // v2 has no such file.
            registry.done(&["groups", "remove", args[2]]);
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(said.iter().all(|words| text.contains(words)), "{args:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{args:?}: {text}");
    }
    assert_eq!(registry.run(&["groups", "remove"]).status.code(), Some(2), "which?");
    assert_eq!(registry.listed(), [lab.as_str()], "none was made");
    assert!(registry.left().iter().all(|dir| dir.ends_with(&lab)), "{:?}", registry.left());
}

#[test]
fn of_groups_that_cannot_all_be_made_none_is() {
    let Some(registry) = Registry::new("none") else { return };
    let lab = registry.named("lab");
    // In v1 each group has a file of that name.
    let output = registry.run(&["groups", "create", &lab, &format!("{lab}/a"), &format!("{lab}/tasks")]);
    if output.status.code() == Some(0) {
        eprintln!("skipped: v2 has no file that a group could be called like");
        return;
    }
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot create a control group"), "{}", stderr(&output));
    assert!(registry.listed().is_empty() && registry.left().is_empty(), "{:?}", registry.left());
    registry.done(&["groups", "create", &lab]);
}

#[test]
fn a_group_that_vanished_is_reported_and_dropped() {
    let Some(registry) = Registry::new("vanished") else { return };
    let [gone, here] = ["gone", "here"].map(|name| registry.named(name));
    registry.done(&["groups", "create", &gone, &here]);
    registry.dirs(&gone).iter().for_each(|dir| fs::remove_dir(dir).expect("is empty"));
    let table = registry.done(&["groups", "list"]);
    assert!(table.contains(&format!("{gone} (vanished)")), "{table}");
    let output = registry.run(&["exec", "--group", &gone, "--", "true"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("has vanished"), "{}", stderr(&output));
    let said = registry.done(&["groups", "remove", &gone]);
    assert!(said.contains("had vanished"), "{said}");
    assert_eq!(registry.listed(), [here.as_str()]);
}

#[test]
fn clean_keeps_groups_and_says_how_to_remove_them() {
    let Some(registry) = Registry::new("clean") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    let said = registry.done(&["clean"]);
    assert!(said.contains("crosstalk groups remove --all"), "{said}");
    assert_eq!((registry.listed(), registry.dirs(&lab).is_empty()), (vec![lab], false));
    registry.done(&["groups", "remove", "--all"]);
    assert!(!registry.done(&["clean"]).contains("groups"));
}

#[test]
fn a_killed_command_leaves_only_what_is_registered() {
    let Some(registry) = Registry::new("killed") else { return };
    let mut registered = 0;
    for number in 0..8 {
        let name = registry.named(&format!("b{number}"));
        let mut child =
            registry.command(&["groups", "create", &name, "--count", "200"]).spawn().expect("starts");
        // At other moments of the making: after so many of them.
        let last = format!("{name}-{}", number * 28);
        while registry.dirs(&last).is_empty() && child.try_wait().expect("waits").is_none() {
            std::thread::yield_now();
        }
        kill("-KILL", child.id());
        child.wait().expect("is ours");
        registry.done(&["clean"]);
        let listed = registry.listed();
        let made: Vec<PathBuf> = registry.left();
        let trees = listed.first().map_or(1, |first| registry.dirs(first).len());
        assert_eq!(made.len(), listed.len() * trees, "after {last}: {} are registered", listed.len());
        registered += usize::from(!listed.is_empty());
        registry.done(&["groups", "remove", "--all"]);
        assert!(registry.left().is_empty());
    }
    assert!(registered < 8, "some were killed while they made groups");
}

#[test]
fn commands_that_run_at_once_wait_for_each_other() {
    let Some(registry) = Registry::new("at-once") else { return };
    let same = registry.named("same");
    let commands = (0..6).map(|number| {
        let own = registry.named(&format!("own-{number}"));
        [
            registry.command(&["groups", "create", &same]).spawn().expect("starts"),
            registry.command(&["groups", "create", &own, "--count", "5"]).spawn().expect("starts"),
        ]
    });
    let commands: Vec<_> = commands.collect();
    let codes: Vec<Option<i32>> =
        commands.into_iter().flatten().map(|child| finish(child).status.code()).collect();
    let of = |first: usize| codes.iter().skip(first).step_by(2).filter(|code| **code == Some(0)).count();
    assert_eq!((of(0), of(1)), (1, 6), "one makes it, and the others are refused: {codes:?}");
    assert_eq!(registry.listed().len(), 31);
}

#[test]
fn page_cache_of_a_removed_group_is_taken_first() {
    let Some(registry) = Registry::new("dying") else { return };
    let lab = registry.named("lab");
    registry.done(&["groups", "create", &lab]);
    registry.cache_file(&lab);
    let charged = || -> u64 {
        let text = registry.setting(&lab, &["memory.usage_in_bytes", "memory.current"]);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    if charged() < 30 << 20 {
        eprintln!("skipped: file pages are not charged here");
        return;
    }
    let removed = registry.lines(&["groups", "remove", &lab]);
    let stays = removed[0]["stays"].as_u64().expect("bytes");
    assert!(stays < 10 << 20, "{removed:?}");
}

#[test]
fn a_command_waits_while_another_changes_the_registry() {
    let Some(registry) = Registry::new("locked") else { return };
    let folder = fs::File::open(registry.folder.path().join("crosstalk-groups")).expect("is there");
    folder.lock().expect("nobody has it");
    let list = registry.done(&["groups", "list"]);
    assert!(list.contains("There are no groups"), "reading waits for nobody: {list}");
    let waiting = registry.command(&["groups", "create", &registry.named("lab")]).spawn().expect("starts");
    // It has begun its ledger, and waits.
    let ledgers = || fs::read_dir(registry.folder.path().join("crosstalk")).expect("is there").flatten();
    await_that("it begins", || {
        ledgers().any(|entry| entry.path().extension().is_some_and(|end| end == "ndjson"))
    });
    assert!(registry.listed().is_empty());
    folder.unlock().expect("is ours");
    assert_eq!(finish(waiting).status.code(), Some(0));
}
