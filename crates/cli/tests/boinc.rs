//! `crosstalk boinc-project`: refusals, kills, and real clients. `crosstalk guard boinc` with requests to the client
//! only.

mod common;
mod unprivileged;

use common::external::{Guarding, Running, await_that, holds_within};
use common::{command, crosstalk, finish, kill, lacks_groups, stderr, stdout};
use crosstalk_boinc::client::{Client, ClientSelector, PASSWORD};
use crosstalk_boinc::project::Attachment;
use crosstalk_boinc::{ClientProcess, ClientSetup, Preferences, find_client_program};
use crosstalk_core::units::Seconds;
use crosstalk_work::peer::Deadline;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

fn project(dir: &Path, more: &[&str]) -> Running {
    project_by(command(dir, &[&["boinc-project", "p"], more].concat()), dir)
}

/// The same by a command that starts it.
fn project_by(mut command: Command, dir: &Path) -> Running {
    let _ = fs::remove_file(dir.join("p/attach.json"));
    // Nobody reads its output, and a full pipe would block it.
    let running = Running::of(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"));
    await_that("it listens", || dir.join("p/attach.json").exists());
    running
}

fn attach(dir: &Path) -> Attachment {
    Attachment::read(&dir.join("p")).expect("is reported")
}

fn get(url: &str, page: &str) -> String {
    let host = url.strip_prefix("http://").expect("is one").split('/').next().expect("has one");
    let mut stream = TcpStream::connect(host).expect("listens");
    write!(stream, "GET /project/{page} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("sends");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("reads");
    reply.split_once("\r\n\r\n").expect("has a head").1.to_string()
}

fn counts(url: &str) -> Value {
    serde_json::from_str::<Value>(&get(url, "status")).expect("JSON")
}

#[test]
fn wrong_options_are_refused_and_create_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    for (words, place) in [
        (&["--units", "0"][..], "--units"),
        (&["--task", "soon"], "--task"),
        (&["--quorum", "0"], "--quorum"),
        (&["--deadline", "0 s"], "--deadline"),
        (&["--listen", "0.0.0.0:0"], "--url"),
        (&["--url", "http://x/"], "--url"),
    ] {
        let output = crosstalk(dir.path(), &[&["boinc-project", "p"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(place), "{}", stderr(&output));
        assert!(!dir.path().join("p").exists(), "{words:?}");
    }
    let help = stdout(&crosstalk(dir.path(), &["boinc-project", "--help"]));
    assert!(help.contains("boinccmd --project_attach") && help.contains("127.0.0.1:8470"), "{help}");
}

#[test]
fn another_program_s_journal_is_neither_changed_nor_waited_for() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("p")).expect("makes");
    let journal = dir.path().join("p/journal.ndjson");
    let refused = || {
        let output = crosstalk(dir.path(), &["boinc-project", "p", "--listen", "127.0.0.1:0"]);
        assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
        assert!(stderr(&output).contains("journal.ndjson"), "{}", stderr(&output));
    };
    fs::write(&journal, "notes of mine, without an end").expect("writes");
    refused();
    assert_eq!(fs::read_to_string(&journal).expect("reads"), "notes of mine, without an end");
    fs::remove_file(&journal).expect("removes");
    assert!(Command::new("mkfifo").arg(&journal).status().expect("coreutils").success());
    refused();
}

#[test]
fn a_killed_project_continues_at_the_same_address_with_the_same_settings() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = project(dir.path(), &["--listen", "127.0.0.1:0", "--units", "7", "--task", "50 ms"]);
    let reported = attach(dir.path());
    let status = counts(&reported.url);
    assert_eq!((&status["done"], &status["settings"]["units"]), (&Value::Bool(false), &Value::from(7)));
    let second = crosstalk(dir.path(), &["boinc-project", "p"]);
    assert_eq!(second.status.code(), Some(4));
    assert!(stderr(&second).contains("another process"), "{}", stderr(&second));
    first.kill();
    let output = crosstalk(dir.path(), &["boinc-project", "p", "--units", "8"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--units"), "{}", stderr(&output));
    let _again = project(dir.path(), &[]);
    assert_eq!(attach(dir.path()), reported);
    assert_eq!(counts(&reported.url), status);
}

#[test]
fn an_interruption_ends_it_with_its_result() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["--json", "boinc-project", "p", "--listen", "127.0.0.1:0", "--task", "50 ms"];
    let child = Running::start(command(dir.path(), &args));
    await_that("it listens", || dir.path().join("p/attach.json").exists());
    kill("-INT", child.id());
    let output = child.finish();
    assert_eq!(output.status.code(), Some(130));
    let reported = stdout(&output);
    let lines: Vec<Value> = reported.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["event"], &lines[1]["result"]), (&"listening".into(), &"boinc-project".into()));
}

#[test]
fn an_application_without_a_task_says_what_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["boinc-app"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("in: cannot read it"), "{}", stderr(&output));
}

/// A real client with its data in `folder`; `None` if none is installed.
fn client(folder: &Path) -> Option<ClientProcess> {
    client_by(|client| Command::new(client), folder)
}

/// Like [`client`], started by another command.
fn client_by(launch: impl FnOnce(&Path) -> Command, folder: &Path) -> Option<ClientProcess> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    if find_client_program().is_none() {
        eprintln!("skipped: no BOINC client here");
        return None;
    }
    let setup = ClientSetup { folder, cores: 2, share: &Preferences::default(), project: None };
    Some(ClientProcess::start_with(launch, &setup, &Deadline::new(Seconds(60.0), &NEVER)).expect("starts"))
}

/// Waits until the project is done, and returns its counts. Clients contact it at most this often, without their
/// usual delay after a failure.
fn counts_when_done(url: &str, clients: &mut [&mut ClientProcess]) -> Value {
    const INTERVAL: Duration = Duration::from_secs(1);
    let mut contacted: Option<Instant> = None;
    await_that("the project is done", || {
        if contacted.is_none_or(|at| at.elapsed() >= INTERVAL) {
            contacted = Some(Instant::now());
            for client in &mut *clients {
                let update = format!("<project_update>\n<project_url>{url}</project_url>\n</project_update>");
                for operation in ["<network_available/>", &update] {
                    client.client().command(operation).expect("is done");
                }
            }
        }
        counts(url)["done"] == true
    });
    counts(url)["counts"].clone()
}

#[test]
fn two_real_clients_agree_on_every_work_unit_while_the_project_is_killed() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["--listen", "127.0.0.1:0", "--units", "4", "--task", "300 ms", "--quorum", "2"];
    let mut killed = project(dir.path(), &args);
    let Some(mut first) = client(&dir.path().join("c")) else { return };
    let mut second = client(&dir.path().join("d")).expect("there is one");
    let reported = attach(dir.path());
    // As people do it.
    for host in [&mut first, &mut second] {
        let attach = format!(
            "<project_attach>\n<project_url>{}</project_url>\n<authenticator>{}</authenticator>\n\
             <project_name>Crosstalk</project_name>\n</project_attach>",
            reported.url, reported.key
        );
        host.client().command(&attach).expect("attaches");
    }
    await_that("it gets work", || counts(&reported.url)["counts"]["sent"].as_u64() > Some(0));
    killed.kill();
    let again = project(dir.path(), &["--units", "4"]);
    let counts = counts_when_done(&reported.url, &mut [&mut first, &mut second]);
    assert_eq!((&counts["answered"], &counts["failed"]), (&4.into(), &0.into()), "{counts}");
    assert_eq!((&counts["hosts"], &counts["valid"]), (&2.into(), &8.into()), "{counts}");
    assert!(counts["cpu"].as_f64() > Some(0.0), "{counts}");
    drop(again);
    // Each work unit has a result from both, with the same answer.
    let journal = fs::read_to_string(dir.path().join("p/journal.ndjson")).expect("reads");
    let lines: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for unit in 0..4 {
        let of = |kind: &str, what: &str| -> BTreeSet<String> {
            let of_it = lines.iter().filter(|line| line["line"] == kind && line["unit"] == unit);
            of_it.map(|line| line[what].to_string()).collect()
        };
        assert_eq!((of("sent", "host").len(), of("reported", "answer").len()), (2, 1), "{journal}");
    }
}

#[test]
fn a_client_that_knows_its_project_gets_all_its_tasks_by_one_request() {
    let dir = tempfile::tempdir().expect("a directory");
    if find_client_program().is_none() {
        eprintln!("skipped: no BOINC client here");
        return;
    }
    let _project = project(dir.path(), &["--listen", "127.0.0.1:0", "--task", "60 s"]);
    let reported = attach(dir.path());
    let never = AtomicBool::new(false);
    let within = Deadline::new(Seconds(60.0), &never);
    let folder = dir.path().join("c");
    let setup =
        ClientSetup { folder: &folder, cores: 20, share: &Preferences::default(), project: Some(&reported) };
    let mut host = ClientProcess::start(&setup, &within).expect("starts");
    host.wait_until_steady(20, &within).expect("all compute");
    let journal = fs::read_to_string(dir.path().join("p/journal.ndjson")).expect("reads");
    let lines = journal.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let sent: Vec<String> =
        lines.filter(|line| line["line"] == "sent").map(|line| line["at"].to_string()).collect();
    assert!(sent.len() >= 20 && sent.iter().take(20).all(|at| *at == sent[0]), "{journal}");
    // It has not read the project's page.
    assert!(
        fs::read_dir(&folder)
            .expect("reads")
            .flatten()
            .all(|entry| !entry.file_name().to_string_lossy().starts_with("master_"))
    );
}

#[test]
fn without_threads_hosts_are_refused_until_there_are_some() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("is ours");
    let mut other = command(dir.path(), &["boinc-project", "p", "--listen", "127.0.0.1:0", "--task", "1 s"]);
    // Another user, because the limit counts all processes of a user.
    other.uid(54_321).gid(54_321).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(project) = other.spawn().map(Running::of) else {
        eprintln!("skipped: only root can run as another user");
        return;
    };
    await_that("it listens", || dir.path().join("p/attach.json").exists());
    let reported = attach(dir.path());
    let allow = |threads: &str| {
        let pid = project.id().to_string();
        // A user may lower the limits of their processes, and raise them again to the hard limit.
        let mut prlimit = Command::new("prlimit");
        prlimit.args(["--pid", &pid, &format!("--nproc={threads}:")]).uid(54_321).gid(54_321).status()
    };
    if !allow("1").is_ok_and(|status| status.success()) {
        eprintln!("skipped: no prlimit here");
        return;
    }
    for _ in 0..3 {
        let address = reported.url.trim_start_matches("http://").split('/').next().expect("has one");
        let mut stream = TcpStream::connect(address).expect("listens");
        let mut reply = String::new();
        // Refused: there is no answer, or a reset.
        let _ = stream.write_all(b"GET /project/status HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut reply);
        assert_eq!(reply, "");
    }
    assert!(allow("64").expect("runs").success());
    assert_eq!(counts(&reported.url)["done"], false, "it goes on");
}

/// A program that computes until it is killed.
fn spinner() -> Running {
    Running::of(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts"))
}

/// Whether the client is not limited.
fn is_free(client: &mut Client) -> bool {
    client.status().is_ok_and(|status| !status.is_paused() && status.mode_ends_in == 0.0)
}

/// Whether it is paused for a time.
fn is_paused(client: &mut Client) -> bool {
    client.status().is_ok_and(|status| status.is_paused() && status.mode_ends_in > 0.0)
}

#[test]
fn without_groups_the_guard_pauses_the_client_by_requests_and_resumes_it() {
    let all = thread::available_parallelism().map_or(1, usize::from);
    let dir = tempfile::tempdir().expect("a directory");
    let can = crosstalk(dir.path(), &["exec", "--foreground", "--", "true"]).status.code() == Some(0);
    if all < 2 || !can {
        eprintln!("skipped: it takes two processors and control groups");
        return;
    }
    // The guard runs as another user, who may read the password.
    let may = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("is ours");
    };
    may(dir.path(), 0o755);
    // In a group of its own, so that there is foreground work.
    let apart = |client: &Path| {
        let mut command = command(dir.path(), &["exec", "--foreground", "--name", "boinc", "--"]);
        command.arg(client);
        command
    };
    let Some(mut host) = client_by(apart, &dir.path().join("c")) else { return };
    let client = host.client();
    let secret = dir.path().join("secret");
    fs::copy(dir.path().join("c").join(PASSWORD), &secret).expect("copies");
    may(&secret, 0o644);
    let wrong = dir.path().join("wrong");
    fs::write(&wrong, "guess\n").expect("writes");
    may(&wrong, 0o644);
    let address = client.address().to_string();
    let guard = |password: &Path, more: &[&str]| {
        let password = password.display().to_string();
        let words = ["guard", "boinc", "--boinc-address", &address, "--boinc-password-file", &password];
        let mut command = command(Path::new("/"), &[&words[..], more].concat());
        command.uid(65_534).gid(65_534);
        command
    };
    let Ok(refused) = guard(&wrong, &[]).spawn() else {
        eprintln!("skipped: only root can run as another user");
        return;
    };
    let refused = finish(refused);
    assert_eq!(refused.status.code(), Some(4), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("refuses the password"), "{}", stderr(&refused));
    assert!(is_free(client));

    let _foreground: Vec<Running> = (0..2 * all).map(|_| spinner()).collect();
    let mut killed = guard(&secret, &[]);
    let mut killed = Running::of(killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"));
    await_that("it is paused", || is_paused(client));
    killed.kill();
    // By itself: the guard has ended.
    await_that("it is free", || is_free(client));

    let again = Guarding::of(guard(&secret, &[]));
    await_that("it is paused again", || is_paused(client));
    let (code, said, complained) = again.end();
    assert_eq!(code, Some(0), "{complained}");
    assert_eq!(said.matches("is asked to pause").count(), 1, "{said}");
    assert!(is_free(client), "{:?}", client.status());
    // `exec` removes its group once it has ended.
    client.command("<quit/>").expect("is asked to");
    await_that("it ends", || host.check().is_err());
}

#[test]
fn a_restarted_client_is_guarded_again_and_that_is_reported_once() {
    if lacks_groups() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let apart = |words: &[String]| {
        let mut command = command(dir.path(), &["exec", "--foreground", "--"]);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let launch = |client: &Path| apart(&[client.display().to_string()]);
    let Some(mut host) = client_by(launch, &dir.path().join("c")) else { return };
    let address = host.client().address();
    let way = ClientSelector { address: Some(address), password: None };
    let pid = way.find().expect("runs").pid;
    let reported = dir.path().join("reported");
    let says = |what: &str| fs::read_to_string(&reported).expect("reads").matches(what).count();
    let mut guard = command(dir.path(), &["guard", "boinc", "--boinc-address", &address.to_string()]);
    let file = fs::File::create(&reported).expect("makes");
    let mut guard = Running::of(guard.stdout(file).stderr(Stdio::null()).spawn().expect("starts"));
    await_that("it guards", || says("") > 1);

    let line = fs::read(format!("/proc/{pid}/cmdline")).expect("runs");
    let words = String::from_utf8(line).expect("is text");
    let words: Vec<String> = words.trim_end_matches('\0').split('\0').map(String::from).collect();
    kill("-KILL", pid);
    await_that("its end is reported", || says("BOINC has ended") > 0);
    let _again = Running::start(apart(&words));
    await_that("it is guarded", || says("BOINC is guarded from now on") > 0);
    await_that("the new one answers", || host.client().version().is_ok());
    let repeated = || says("BOINC has ended") > 1 || says("BOINC is guarded from now on") > 1;
    assert!(!holds_within(Duration::from_secs(2), repeated), "a report is repeated");
    kill("-INT", guard.id());
    let text = || fs::read_to_string(&reported).expect("reads");
    assert_eq!(guard.child().wait().expect("ends").code(), Some(0), "{}", text());
    assert_eq!((says("BOINC has ended"), says("BOINC is guarded from now on")), (1, 1), "{}", text());
}
