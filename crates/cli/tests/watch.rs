//! `crosstalk groups watch` in a mount namespace of the test's own, so that nothing else on this machine waits for it.
//! Skipped without root, fanotify, or control groups.

mod scene;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::external::{Running, await_that};
use crate::common::{command, finish, kill, stderr, stdout};

use scene::{Scene, USER, is_in};

#[test]
fn programs_are_in_their_group_before_they_run_and_so_is_what_they_start() {
    let Some(scene) = Scene::new("placed") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    // A shell that runs before the watcher.
    let mut shell = scene.by(USER, "read -r line; cat /proc/$$/cgroup; read -r line");
    let mut shell = shell.stdin(Stdio::piped()).spawn().expect("starts");
    let watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    await_that("the shell is moved", || watch.said().contains("\"in_time\":false"));
    shell.stdin.take().expect("is piped").write_all(b"\n\n").expect("reads");
    assert!(is_in(&scene, &lab, &stdout(&finish(shell))), "the shell");
    let show = "cat /proc/self/cgroup";
    assert!(is_in(&scene, &lab, &scene.prints(USER, &format!("exec {show}"))), "a program");
    assert!(is_in(&scene, &lab, &scene.prints(USER, &format!("{show}; true"))), "a child");
    assert!(
        is_in(&scene, &lab, &scene.prints(USER, &format!("sh -c '(setsid {show}) & wait'"))),
        "of a child"
    );
    let script = scene.folder().join("script");
    fs::write(&script, format!("#!/bin/sh\n{show}\n")).expect("writes");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("is ours");
    assert!(is_in(&scene, &lab, &scene.prints(USER, &script.display().to_string())), "a script");
    for other in [0, USER + 1, 7] {
        assert!(!scene.prints(other, show).contains(&lab), "another user: {other}");
    }
    scene.prints(USER, "dd if=/dev/zero of=/dev/null bs=40M count=1 2>/dev/null");
    let peak = scene.registry.setting(&lab, &["memory.max_usage_in_bytes", "memory.peak"]);
    let peak: u64 = peak.and_then(|text| text.parse().ok()).expect("bytes");
    assert!(peak > 40 << 20, "the memory is charged to the group: {peak}");
    let result = watch.end();
    let number = |name: &str| result[name].as_u64().expect("a number");
    assert!(number("inherited") > 5 && number("moved") >= 5 && number("before") == 1, "{result}");
    assert_eq!((number("missed"), number("restarts")), (0, 0), "{result}");
    // Nobody watches any more.
    assert!(!scene.prints(USER, show).contains(&lab));
}

#[test]
fn a_killed_or_stopped_watcher_strands_nobody_and_is_started_again() {
    let Some(scene) = Scene::new("stranded") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    let rules = scene.folder().join("rules.toml");
    let args = ["groups", "watch", "--rules", rules.to_str().expect("is text")];
    let second = finish(scene.inside(&scene.registry.command(&args)).spawn().expect("starts"));
    let who = format!("another groups watch runs already: process {}", watch.process.id());
    assert!(second.status.code() == Some(4) && stderr(&second).contains(&who), "{}", stderr(&second));
    for signal in ["-KILL", "-STOP", "-STOP", "-KILL", "-STOP"] {
        let mut starter = scene.by(USER, "while read -r line; do /bin/true; echo done; done");
        let mut starter = starter.stdin(Stdio::piped()).spawn().expect("starts");
        let mut input = starter.stdin.take().expect("is piped");
        input.write_all(&b"\n".repeat(20)).expect("reads");
        let before = watch.watcher().expect("it watches");
        kill(signal, before);
        input.write_all(&b"\n".repeat(20)).expect("reads");
        drop(input);
        assert_eq!(stdout(&finish(starter)).lines().count(), 40, "all have started");
        await_that("it is started again", || watch.watcher().is_some_and(|now| now != before));
        await_that("it places programs again", || {
            is_in(&scene, &lab, &scene.prints(USER, "cat /proc/self/cgroup"))
        });
    }
    assert!(watch.complaints().contains("it is started again"), "{}", watch.complaints());
    // What a new watcher finds running: here a program of another mount namespace, which it did not see starting.
    let mut elsewhere = Command::new("setpriv");
    elsewhere.args(["--reuid", &USER.to_string(), "--clear-groups", "sleep", "300"]);
    let elsewhere = Running::start(elsewhere);
    kill("-KILL", watch.watcher().expect("it watches"));
    await_that("it is found", || {
        let inside = scene.registry.setting(&lab, &["cgroup.procs"]).unwrap_or_default();
        inside.lines().any(|pid| pid == elsewhere.id().to_string())
    });
    drop(elsewhere);
    let result = watch.end();
    assert_eq!(result["restarts"], 6, "{result}");
    assert!(result["late"].as_u64().is_some_and(|late| late > 0), "{result}");
}

#[test]
fn the_watcher_ends_with_its_supervisor_and_goes_on_while_that_is_stopped() {
    let Some(scene) = Scene::new("supervisor") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let mut watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    kill("-STOP", watch.process.id());
    assert!(is_in(&scene, &lab, &scene.prints(USER, "cat /proc/self/cgroup")));
    // Both are stopped, as by Ctrl-Z: nobody is left who could start it again, and still nobody waits for it.
    let stopped = watch.watcher().expect("it watches");
    kill("-STOP", stopped);
    assert!(!scene.prints(USER, "cat /proc/self/cgroup").contains(&lab));
    kill("-CONT", watch.process.id());
    await_that("it is started again", || watch.watcher().is_some_and(|now| now != stopped));
    await_that("it places programs again", || {
        is_in(&scene, &lab, &scene.prints(USER, "cat /proc/self/cgroup"))
    });
    let watcher = watch.watcher().expect("it watches");
    watch.process.kill().expect("is ours");
    watch.process.wait().expect("is ours");
    await_that("the watcher ends", || !Path::new(&format!("/proc/{watcher}/exe")).exists());
    assert!(!scene.prints(USER, "cat /proc/self/cgroup").contains(&lab));
}

#[test]
fn a_group_that_vanishes_is_reported_once_and_programs_start_without_it() {
    let Some(scene) = Scene::new("vanishing") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    let show = "cat /proc/self/cgroup";
    assert!(is_in(&scene, &lab, &scene.prints(USER, show)));
    scene.registry.dirs(&lab).iter().for_each(|dir| fs::remove_dir(dir).expect("is empty"));
    for _ in 0..3 {
        assert!(!scene.prints(USER, show).contains(&lab));
    }
    await_that("it is reported", || watch.complaints().contains("has vanished"));
    assert_eq!(watch.complaints().matches("has vanished").count(), 1, "{}", watch.complaints());
    scene.registry.done(&["groups", "remove", &lab]);
    scene.registry.done(&["groups", "create", &lab]);
    assert!(is_in(&scene, &lab, &scene.prints(USER, show)), "it is made anew");
    assert!(watch.end()["missed"].as_u64().is_some_and(|missed| missed >= 3));
}

#[test]
fn rules_make_groups_and_those_that_are_empty_go_with_the_watcher() {
    let Some(scene) = Scene::new("make") else { return };
    let name = scene.registry.named("u");
    // One of them may be guaranteed as much, not both.
    let meminfo = fs::read_to_string("/proc/meminfo").expect("reads");
    let machine = meminfo.split_ascii_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    let huge = machine.expect("it has memory") * 6 / 10;
    let rules = format!(
        "[[rule]]\nuser = {}\ngroup = \"{name}-{{uid}}-huge\"\ncreate = true\nprofile = \"guaranteed\"\nmemory = \"{huge} KiB\"\n\
         [[rule]]\nuser = \"*\"\ngroup = \"{name}-{{uid}}\"\ncreate = true\nmemory_limit = \"1 GiB\"\n",
        USER + 2
    );
    let watch = scene.watch(&rules, &[]);
    let half = scene.registry.named("half");
    let memory = format!("{huge} KiB");
    scene.registry.run(&["groups", "create", &half, "--profile", "guaranteed", "--memory", &memory]);
    let of = |user: u32| format!("{name}-{user}");
    let show = "cat /proc/self/cgroup";
    for user in [USER, USER + 1] {
        // A program waits for its group no longer than it takes in the worst case, and is then moved.
        await_that("it has its group", || is_in(&scene, &of(user), &scene.prints(user, show)));
    }
    assert!(!scene.prints(USER + 2, show).contains(&name), "its group cannot be made");
    let why = format!("cannot make group `{name}-{}-huge`: --memory: guaranteed memory adds up to", USER + 2);
    await_that("it is reported", || watch.complaints().contains(&why));
    assert!(!watch.complaints().contains("has vanished"), "{}", watch.complaints());
    let limit = scene.registry.setting(&of(USER), &["memory.max", "memory.limit_in_bytes"]);
    assert_eq!(limit.as_deref(), Some("1073741824"));
    let sleeper = Running::of(scene.by(USER, "exec sleep 300").spawn().expect("starts"));
    await_that("it is in its group", || {
        scene.registry.setting(&of(USER), &["cgroup.procs"]).is_some_and(|pids| !pids.is_empty())
    });
    let said = watch.said.clone();
    let result = watch.end();
    assert_eq!(result["stay"], serde_json::json!([of(USER)]), "{result}");
    assert_eq!(scene.registry.listed(), [half, of(USER)]);
    let said = fs::read_to_string(said).expect("reads");
    let events = |event: &str| said.matches(&format!("{{\"event\":\"{event}\"")).count();
    assert_eq!((events("made"), events("removed")), (2, 1), "{said}");
    drop(sleeper);
}

#[test]
fn login_sessions_are_taken_out_of_their_scopes_and_services_are_not() {
    let Some(scene) = Scene::new("units") else { return };
    if Path::new("/run/systemd/system").exists() {
        eprintln!("skipped: systemd owns the tree in which the test pretends units");
        return;
    }
    let trees = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
    let Some(tree) = trees.map(Path::new).into_iter().find(|tree| tree.join("cgroup.procs").exists()) else {
        eprintln!("skipped: there is no tree in which units could be pretended");
        return;
    };
    let name = scene.registry.named("s");
    let service = scene.registry.named("x.service");
    let slice = format!("user.slice/user-{USER}.slice");
    let units = Units::new(tree, &[&service, "user.slice", &slice, &format!("{slice}/session-c7.scope")]);
    let rules = format!(
        "[[rule]]\nsession = true\ngroup = \"{name}-{{session}}\"\ncreate = true\n\
                         [[rule]]\nuser = {USER}\ngroup = \"{name}-{{uid}}\"\ncreate = true\n"
    );
    let watch = scene.watch(&rules, &[]);
    let in_unit = |unit: &str| {
        let procs = units.path(unit).join("cgroup.procs");
        let begin = format!(
            "echo $$ > {}; exec setpriv --reuid {USER} --clear-groups cat /proc/self/cgroup",
            procs.display()
        );
        scene.prints(0, &begin)
    };
    let kept = in_unit(&service);
    assert!(kept.contains(&service) && !kept.contains("crosstalk-groups"), "{kept}");
    await_that("a session has its group", || {
        is_in(&scene, &format!("{name}-c7"), &in_unit(&format!("{slice}/session-c7.scope")))
    });
    await_that("others have theirs", || {
        is_in(&scene, &format!("{name}-{USER}"), &scene.prints(USER, "cat /proc/self/cgroup"))
    });
    watch.end();
}

/// Groups that are called as systemd calls its units. Dropping it removes them.
struct Units(Vec<PathBuf>);

impl Units {
    fn new(tree: &Path, names: &[&str]) -> Self {
        let paths: Vec<PathBuf> = names.iter().map(|name| tree.join(name)).collect();
        let made: Vec<PathBuf> = paths.into_iter().filter(|path| fs::create_dir(path).is_ok()).collect();
        Units(made)
    }

    fn path(&self, name: &str) -> &Path {
        self.0.iter().find(|path| path.ends_with(name)).expect("was made")
    }
}

impl Drop for Units {
    fn drop(&mut self) {
        for path in self.0.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

#[test]
fn a_fork_bomb_is_contained_by_its_group_and_reported() {
    let Some(scene) = Scene::new("bomb") else { return };
    let lab = scene.registry.named("lab");
    let output = scene.registry.run(&["groups", "create", &lab, "--processes", "20"]);
    if output.status.code() == Some(4) {
        eprintln!("skipped: {}", stderr(&output).trim());
        return;
    }
    let most = scene.registry.setting(&lab, &["pids.max"]);
    assert_eq!(most.as_deref(), Some("20"));
    let watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    // Sixty of them would be the bomb.
    let bomb = "i=0; while [ $i -lt 60 ]; do sleep 300 & i=$((i + 1)); done; wait";
    let mut bomb = Running::of(scene.by(USER, bomb).spawn().expect("starts"));
    await_that("it is reported", || watch.complaints().contains("as many processes as it may"));
    let processes = scene.registry.setting(&lab, &["pids.current"]).expect("is counted");
    assert!(processes.parse::<u32>().expect("a number") <= 20, "{processes}");
    assert!(scene.prints(0, "echo others start").contains("start"));
    watch.end();
    scene.registry.done(&["groups", "remove", "--all", "--kill"]);
    bomb.kill();
}

#[test]
fn a_program_that_its_loader_starts_is_found_while_it_runs() {
    let Some(scene) = Scene::new("loader") else { return };
    let loaders = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let Some(loader) = loaders.into_iter().find(|path| Path::new(path).exists()) else {
        eprintln!("skipped: no known loader");
        return;
    };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let watch = scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &[]);
    let mut program = Command::new("setpriv");
    program.args(["--reuid", &USER.to_string(), "--clear-groups", loader, "/bin/sleep", "300"]);
    let sleeper = Running::of(scene.inside(&program).spawn().expect("starts"));
    await_that("it is in its group", || {
        let pids = scene.registry.setting(&lab, &["cgroup.procs"]);
        pids.is_some_and(|pids| pids == sleeper.id().to_string())
    });
    watch.end();
    drop(sleeper);
}

#[test]
fn process_events_are_a_fallback_that_is_said_to_be_one() {
    let Some(scene) = Scene::new("events") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let watch =
        scene.watch(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"), &["--by", "process-events"]);
    assert!(watch.said().contains("\"process-events\""), "{}", watch.said());
    let sleeper = Running::of(scene.by(USER, "exec sleep 300").spawn().expect("starts"));
    await_that("it is moved while it runs", || {
        let pids = scene.registry.setting(&lab, &["cgroup.procs"]);
        pids.is_some_and(|pids| pids == sleeper.id().to_string())
    });
    watch.end();
    drop(sleeper);
    let rules = scene.rules(&format!("[[rule]]\nuser = {USER}\ngroup = \"{lab}\"\n"));
    let args = [
        "groups",
        "watch",
        "--rules",
        rules.to_str().expect("is text"),
        "--by",
        "process-events",
        "--for",
        "0.2 s",
    ];
    let said = stdout(&finish(scene.inside(&scene.registry.command(&args)).spawn().expect("starts")));
    let first = said.lines().next().unwrap_or_default();
    assert!(first.contains("the fallback") && first.contains("have often ended before"), "{said}");
}

#[test]
fn wrong_rules_are_refused_with_their_line_and_a_remedy() {
    let Some(scene) = Scene::new("rules") else { return };
    let lab = scene.registry.named("lab");
    scene.registry.done(&["groups", "create", &lab]);
    let refused = |rules: Option<&str>, more: &[&str]| -> Output {
        let path = rules.map(|text| scene.rules(text));
        let mut args = vec!["groups", "watch"];
        if let Some(path) = &path {
            args.extend(["--rules", path.to_str().expect("is text")]);
        }
        args.extend(more);
        scene.registry.run(&args)
    };
    for (rules, said) in [
        (format!("[[rule]]\ngroup = \"{lab}\"\n"), &["rules.toml:2: ", "everybody", "name a user"][..]),
        ("[[rule]]\nuser = \"root\"\ngroup = \"x\"\n".into(), &["rules.toml:2: user root"]),
        (
            "[[rule]]\nuser = 1000\ngroup = \"tasks\"\ncreate = true\n\n\
             [[rule]]\nuser = 1001\ngroup = \"cgroup.procs\"\ncreate = true\n"
                .into(),
            &["rules.toml:", "the kernel has a file of this name", "choose another name"],
        ),
        (
            "[[rule]]\nuser = 1000\ngroup = \"nix-{user}\"\ncreate = true\nprofile = \"guaranteed\"\nmemory = \"900 TiB\"\n"
                .into(),
            &["rules.toml:2: memory: guaranteed memory adds up to"],
        ),
        (
            "[[rule]]\nuser = 1000\ngroup = \"nix\"\ncreate = true\nprofile = \"guaranteed\"\n".into(),
            &["rules.toml:2: profile: a guaranteed group needs", "memory = \"2 GiB\""],
        ),
        (
            "\n[[rule]]\nuser = 1000\ngroup = \"nix\"\n".into(),
            &["rules.toml:3: there is no group `nix`", "crosstalk groups create nix"],
        ),
        (
            "[[rule]]\nuser = \"*\"\ngroup = \"nix/{user}\"\ncreate = true\n".into(),
            &["rules.toml:2: there is no group `nix` for the rule's groups to be in", "crosstalk groups create nix"],
        ),
        ("[[rule]]\nuser = \"no\\u001bbody\"\ngroup = \"x\"\n".into(), &["rules.toml:2: unknown user"]),
    ] {
        let output = refused(Some(&rules), &[]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{rules}: {text}");
        assert!(said.iter().all(|words| text.contains(words)) && !text.contains('\u{1b}'), "{rules}: {text}");
    }
    let output = refused(None, &[]);
    assert!(stderr(&output).contains("no user has a group of that name"), "{}", stderr(&output));
    let output = refused(None, &["--for", "0 s"]);
    assert!(stderr(&output).contains("--for"), "{}", stderr(&output));
    let mut user = Command::new("setpriv");
    user.args(["--reuid", &USER.to_string(), "--clear-groups"]);
    let watch = command(Path::new("/"), &["groups", "watch"]);
    user.arg(watch.get_program()).args(watch.get_args());
    let output = user.output().expect("setpriv starts");
    // It may not even reach the program's folder.
    if output.status.code() == Some(4) {
        assert!(stderr(&output).contains("run it as root"), "{}", stderr(&output));
    }
}
