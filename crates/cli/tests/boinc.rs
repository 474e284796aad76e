//! `crosstalk boinc-project`: what it refuses, that it survives being killed, and a real
//! client at it; `crosstalk guard boinc` where it may only ask.

mod common;

use common::{command, crosstalk, finish, kill, stderr, stdout};
use crosstalk_tenancy::boinc::{Client, Preferences, Status};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What ends with the test, also where that fails.
struct Running(Child);

impl Running {
    fn kill(mut self) {
        self.0.kill().expect("was ours");
        self.0.wait().expect("was ours");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn project(dir: &Path, more: &[&str]) -> Running {
    let _ = fs::remove_file(dir.join("p/attach.json"));
    let args = [&["boinc-project", "p"], more].concat();
    let mut command = command(dir, &args);
    // Nobody reads them: they must not fill.
    let running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"));
    until("it listens", Duration::from_secs(60), || dir.join("p/attach.json").exists());
    running
}

fn until(what: &str, patience: Duration, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn attach(dir: &Path) -> (String, String) {
    let told: Value =
        serde_json::from_slice(&fs::read(dir.join("p/attach.json")).expect("reads")).expect("JSON");
    let text = |name: &str| told[name].as_str().expect("is text").to_string();
    (text("url"), text("key"))
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
fn what_makes_no_sense_is_refused_and_makes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    for (words, place) in [
        (&["--units", "0"][..], "--units"),
        (&["--task", "10"], "--task"),
        (&["--quorum", "0"], "--quorum"),
        (&["--deadline", "0 s"], "--deadline"),
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
fn a_killed_project_goes_on_at_the_same_address_and_stays_what_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = project(dir.path(), &["--listen", "127.0.0.1:0", "--units", "7", "--task", "50 ms"]);
    let told = attach(dir.path());
    let status = counts(&told.0);
    assert_eq!((&status["done"], &status["settings"]["units"]), (&Value::Bool(false), &Value::from(7)));
    let second = crosstalk(dir.path(), &["boinc-project", "p"]);
    assert_eq!(second.status.code(), Some(4));
    assert!(stderr(&second).contains("another process"), "{}", stderr(&second));
    first.kill();
    let output = crosstalk(dir.path(), &["boinc-project", "p", "--units", "8"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--units"), "{}", stderr(&output));
    let again = project(dir.path(), &[]);
    assert_eq!(attach(dir.path()), told);
    assert_eq!(counts(&told.0), status);
    again.kill();
}

#[test]
fn an_interruption_ends_it_with_its_result() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = ["--json", "boinc-project", "p", "--listen", "127.0.0.1:0", "--task", "50 ms"];
    let child = command(dir.path(), &args).spawn().expect("starts");
    until("it listens", Duration::from_secs(60), || dir.path().join("p/attach.json").exists());
    kill("-INT", child.id());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(130));
    let told = stdout(&output);
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["event"], &lines[1]["result"]), (&"listening".into(), &"boinc-project".into()));
}

#[test]
fn an_application_without_a_task_says_what_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = crosstalk(dir.path(), &["boinc-app"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(stderr(&output).contains("in: cannot read it"), "{}", stderr(&output));
}

/// A real client, in a group of its own where it stands `apart`; `None` where there is none on this
/// machine.
fn client(dir: &Path, cores: u32, apart: bool) -> Option<(Running, Client)> {
    let path = std::env::var_os("PATH")?;
    let Some(binary) =
        std::env::split_paths(&path).map(|path| path.join("boinc")).find(|path| path.is_file())
    else {
        eprintln!("skipped: no BOINC client here");
        return None;
    };
    let port =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr()).expect("listens").port();
    let options = "<no_info_fetch>1</no_info_fetch><dont_contact_ref_site>1</dont_contact_ref_site>\
        <max_file_xfers>50</max_file_xfers><max_file_xfers_per_project>50</max_file_xfers_per_project>";
    let config = format!("<cc_config><options><ncpus>{cores}</ncpus>{options}</options></cc_config>");
    fs::create_dir(dir.join("c")).expect("makes");
    fs::write(dir.join("c/cc_config.xml"), config).expect("writes");
    fs::write(dir.join("c/global_prefs_override.xml"), Preferences::default().to_file()).expect("writes");
    fs::write(dir.join("c/gui_rpc_auth.cfg"), "secret").expect("writes");
    let mut command = if apart {
        let mut own = command(dir, &["exec", "--own", "--name", "boinc", "--"]);
        own.arg(&binary);
        own
    } else {
        Command::new(&binary)
    };
    command.args([
        "--dir",
        "c",
        "--gui_rpc_port",
        &port.to_string(),
        "--allow_multiple_clients",
        "--no_gpus",
    ]);
    command.args(["--skip_cpu_benchmarks", "--pers_retry_delay_min", "1", "--sched_retry_delay_min", "1"]);
    command.args(["--pers_retry_delay_max", "3", "--sched_retry_delay_max", "3"]).current_dir(dir);
    let running = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"));
    let mut client = Client::local(&dir.join("c"), port).expect("reads").within(Duration::from_secs(5));
    until("it answers", Duration::from_secs(30), || client.version().is_ok());
    Some((running, client))
}

#[test]
fn a_real_client_does_all_work_units_while_the_project_is_killed() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = project(dir.path(), &["--listen", "127.0.0.1:0", "--units", "6", "--task", "300 ms"]);
    let (url, key) = attach(dir.path());
    let Some((_running, mut client)) = client(dir.path(), 2, false) else { return };
    client.attach(&url, &key, "Crosstalk").expect("attaches");
    until("it gets work", Duration::from_secs(90), || counts(&url)["counts"]["sent"].as_u64() > Some(0));
    first.kill();
    let again = project(dir.path(), &["--units", "6"]);
    let began = Instant::now();
    while counts(&url)["done"] != true {
        assert!(began.elapsed() < Duration::from_secs(180), "{}\n{:?}", counts(&url), client.tasks());
        client.retry_transfers().expect("retries");
        client.update(&url).expect("asks");
        thread::sleep(Duration::from_secs(2));
    }
    let told = counts(&url);
    assert_eq!((&told["counts"]["answered"], &told["counts"]["failed"]), (&6.into(), &0.into()), "{told}");
    assert!(told["counts"]["cpu"].as_f64() > Some(0.0), "{told}");
    client.quit().expect("quits");
    again.kill();
}

/// A program that computes without end.
fn spinner() -> Running {
    Running(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh starts"))
}

/// Whether nothing is asked of the client: it has its two processors, and computes as it likes.
fn is_free(client: &mut Client) -> bool {
    let free = |status: Status| status.mode == status.lasting_mode && status.mode_ends_in == 0.0;
    client.cores() == Ok(Some(2)) && client.status().is_ok_and(free)
}

#[test]
fn where_it_may_not_set_groups_the_guard_asks_the_client_and_leaves_it_as_it_was() {
    let all = thread::available_parallelism().map_or(1, usize::from);
    let dir = tempfile::tempdir().expect("a directory");
    let can = crosstalk(dir.path(), &["exec", "--own", "--", "true"]).status.code() == Some(0);
    if all < 2 || !can {
        eprintln!("skipped: it takes two processors and control groups");
        return;
    }
    // The guard is somebody else, who may read the password.
    let may = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("is ours");
    };
    may(dir.path(), 0o755);
    let Some((running, mut client)) = client(dir.path(), 2, true) else { return };
    let secret = dir.path().join("secret");
    fs::write(&secret, "secret\n").expect("writes");
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
        eprintln!("skipped: only root can be somebody else");
        return;
    };
    let refused = finish(refused);
    assert_eq!(refused.status.code(), Some(4), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("refuses the password"), "{}", stderr(&refused));
    assert!(is_free(&mut client));

    let _own: Vec<Running> = (0..2 * all).map(|_| spinner()).collect();
    let mut killed = guard(&secret, &[]);
    let killed = Running(killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts"));
    until("it has one processor", Duration::from_secs(30), || client.cores() == Ok(Some(1)));
    killed.kill();
    until("it is free", Duration::from_secs(20), || is_free(&mut client));

    let output = finish(guard(&secret, &["--for", "6 s"]).spawn().expect("starts"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let asked = stdout(&output).matches("is asked to give way").count();
    assert_eq!(asked, 1, "{}", stdout(&output));
    assert!(is_free(&mut client), "{:?}", client.status());
    client.quit().expect("quits");
    drop(running);
}
