//! `crosstalk groups show --watch --protect`, and its key. Skipped where no control groups can be made.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::external::{Running, await_that};
use crate::common::groups::Registry;
use crate::common::{kill, stderr, stdout};

/// A group that is protected, and a besteffort one with file pages that it has read once.
struct Pair {
    registry: Registry,
    lab: String,
    rest: String,
    before: [Option<String>; 3],
}

impl Pair {
    fn new(test: &str) -> Option<Pair> {
        let registry = Registry::new(test)?;
        let [lab, rest] = ["lab", "rest"].map(|name| registry.named(name));
        registry.done(&["groups", "create", &lab]);
        registry.done(&["groups", "create", &rest, "--profile", "besteffort"]);
        let file = registry.folder.path().join("data");
        let script = format!("head -c 64m /dev/zero >{0}; sync {0}; cat {0}", file.display());
        registry.done(&["exec", "--group", &rest, "--", "sh", "-c", &format!("{script} >/dev/null")]);
        let mut pair = Pair { registry, lab, rest, before: [const { None }; 3] };
        pair.before = pair.settings();
        Some(pair)
    }

    fn settings(&self) -> [Option<String>; 3] {
        [
            self.registry.setting(&self.lab, &["cpu.weight", "cpu.shares"]),
            self.registry.setting(&self.lab, &["memory.low"]),
            self.registry.setting(&self.rest, &["memory.limit_in_bytes"]),
        ]
    }

    fn is_protected(&self) -> bool {
        let now = self.settings();
        // All that this host has.
        now.iter().zip(&self.before).all(|(now, before)| now.is_none() || now != before)
    }

    fn is_set_back(&self) -> bool {
        self.settings() == self.before
    }
}

#[test]
fn a_group_is_protected_while_the_page_runs() {
    let Some(pair) = Pair::new("protect") else { return };
    for signal in ["-INT", "-KILL"] {
        let args = ["groups", "show", "--watch", "--protect", &pair.lab, "--json"];
        let mut start = pair.registry.command(&args);
        let said = pair.registry.folder.path().join("said");
        start.stdout(fs::File::create(&said).expect("makes"));
        let mut child = start.spawn().expect("starts");
        await_that("it is protected", || pair.is_protected());
        let weight = pair.settings()[0].clone();
        assert!(["10000", "102400"].contains(&weight.as_deref().expect("is offered")), "{weight:?}");
        if let Some(limit) = &pair.settings()[2] {
            assert!(
                limit.parse::<u64>().is_ok_and(|limit| limit < 64 << 20),
                "what it has read once: {limit}"
            );
        }
        let text = || fs::read_to_string(&said).expect("reads");
        await_that("it counts twice", || text().matches("\"event\":\"group\"").count() >= 4);
        kill(signal, child.id());
        child.wait().expect("is ours");
        await_that("all is set back", || pair.is_set_back());
        let lines: Vec<Value> = text().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert_eq!(lines[0]["protection"], true, "{lines:#?}");
        if signal == "-INT" {
            let result = lines.last().expect("a result");
            let lab = &result["comparison"][0];
            assert_eq!((&lab["name"], &lab["off"]), (&pair.lab.as_str().into(), &Value::Null), "{result:#}");
            assert!(lab["on"]["n"].as_u64() >= Some(1), "{result:#}");
            assert!(result["own_processors"].as_f64().is_some_and(|own| own > 0.0), "{result:#}");
        }
    }
}

#[test]
fn a_key_switches_protection_and_a_kill_sets_the_terminal_back() {
    let Some(pair) = Pair::new("keys") else { return };
    let Some((mut terminal, page)) = terminal(&pair) else { return };
    let mut keys = terminal.child().stdin.take().expect("is piped");
    let mut press = |key: &[u8]| keys.write_all(key).and_then(|()| keys.flush()).expect("it reads");
    let shown = || {
        String::from_utf8_lossy(&fs::read(pair.registry.folder.path().join("shown")).unwrap_or_default())
            .into_owned()
    };
    await_that("the page is there", || shown().contains("q end"));
    press(b"p");
    await_that("it says that no group is chosen", || shown().contains("no group is chosen"));
    assert!(pair.is_set_back());
    press(b"\x1b[B");
    await_that("the first group is chosen", || {
        shown().contains(&format!("Protection of {} is off", pair.lab))
    });
    press(b"p");
    await_that("it is protected", || pair.is_protected());
    await_that("the page says so", || shown().contains(&format!("Protection of {} is on", pair.lab)));
    await_that("it does not compare yet", || shown().contains("Too early to compare: "));
    assert!(shown().contains("\u{1b}[?1049h") && !shown().contains("\u{1b}[?1049l"), "{}", shown());
    assert!(shown().contains("This page takes "), "{}", shown());
    press(b"p");
    await_that("it is not", || pair.is_set_back());
    press(b"\x1b[B");
    press(b"p");
    await_that("a besteffort group is refused", || shown().contains("yields to the others"));
    press(b"\x1b[A");
    press(b"p");
    await_that("it is protected again", || pair.is_protected());
    kill("-KILL", page);
    await_that("all is set back", || pair.is_set_back());
    await_that("the former screen is back", || shown().contains("\u{1b}[?1049l"));
    await_that("the terminal, too", || pair.registry.folder.path().join("restored").exists());
    terminal.kill();
}

/// A shell in a terminal of its own, in which the page runs, and that page's process. After its end the shell waits
/// until the terminal shows again what is typed. `None` where there is no `script`.
fn terminal(pair: &Pair) -> Option<(Running, u32)> {
    let folder = pair.registry.folder.path();
    let shell = format!(
        "stty cols 150; {} groups show --watch; until stty -a | grep -q ' echo '; do sleep 0.05; done; touch restored; sleep 60",
        env!("CARGO_BIN_EXE_crosstalk")
    );
    let mut start = Command::new("script");
    start.args(["-qfec", &shell, "shown"]).current_dir(folder).env("XDG_RUNTIME_DIR", folder);
    start.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(child) = start.spawn() else {
        eprintln!("skipped: there is no `script`");
        return None;
    };
    let running = Running::of(child);
    let mut page = None;
    await_that("the page begins", || {
        page = descendant(running.id(), "crosstalk");
        page.is_some()
    });
    Some((running, page?))
}

/// The process of that name that this one has started, or one of its own.
fn descendant(pid: u32, name: &str) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().filter_map(|child| child.parse().ok()).find_map(|child| {
        let is_it = fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|comm| comm.trim() == name);
        if is_it { Some(child) } else { descendant(child, name) }
    })
}

#[test]
fn who_may_not_protect_reads_who_may() {
    let Some(pair) = Pair::new("nobody") else { return };
    let mut user = Command::new("setpriv");
    user.args(["--reuid", "65534", "--clear-groups", env!("CARGO_BIN_EXE_crosstalk")]);
    user.args(["groups", "show", "--watch", "--protect", &pair.lab]);
    let output = user.env("XDG_RUNTIME_DIR", pair.registry.folder.path()).output().expect("runs");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(stderr(&output).contains("run it as root"), "{}", stderr(&output));
    assert!(pair.is_set_back());
}

#[test]
fn what_cannot_be_protected_is_refused() {
    let Some(pair) = Pair::new("unprotected") else { return };
    for (args, said) in [
        (&["--watch", "--protect", &pair.rest][..], "yields to the others"),
        (&["--watch", "--protect", "nobody"], "crosstalk groups list"),
        (&["--protect", &pair.lab], "--watch"),
    ] {
        let output = pair.registry.run(&[&["groups", "show"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}{}", stdout(&output), stderr(&output));
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
    assert!(pair.is_set_back());
}
