//! BOINC's project, its client and its tasks, where root starts them: they run as `nobody`.

use crate::common::external::await_that;
use crate::common::{command, finish, stderr};
use crate::{attach, counts, project, project_by};
use crosstalk_boinc::client::ClientSelector;
use crosstalk_boinc::project::Attachment;
use crosstalk_boinc::{ClientProcess, ClientSetup, Preferences, find_client_program};
use crosstalk_core::units::Seconds;
use crosstalk_host::process::{Account, end_with_starter};
use crosstalk_work::peer::Deadline;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;

/// The number of the user that they run as; `None` where this test may not become another user.
fn nobody() -> Option<u32> {
    let account = Account::unprivileged().ok().flatten();
    if account.is_none() {
        eprintln!("skipped: only root can be somebody else");
    }
    account.map(Account::user)
}

/// The value of a line of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).expect("runs");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("is there").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// That the process is this user's in every way, and has neither other groups nor rights.
fn is_only(pid: u32, user: u32) {
    assert_eq!(status(pid, "Uid"), [user; 4].map(|user| user.to_string()).join(" "));
    assert!(status(pid, "Gid").split(' ').all(|group| group != "0"));
    assert_eq!(status(pid, "Groups"), "");
    for rights in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status(pid, rights), "0".repeat(16), "{rights}");
    }
}

fn owner(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("is there").uid()
}

/// A client of that project, started as the workload does.
fn client(folder: &Path, project: &Attachment) -> ClientProcess {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let until = Deadline::new(Seconds(60.0), &NEVER);
    let setup = ClientSetup { folder, cores: 1, share: &Preferences::default(), project: Some(project) };
    let mut client = ClientProcess::start(&setup, &until).expect("starts");
    client.wait_until_steady(1, &until).expect("computes");
    client
}

#[test]
fn project_client_and_tasks_run_as_nobody_below_a_folder_of_root_s() {
    let Some(nobody) = nobody() else { return };
    if find_client_program().is_none() {
        eprintln!("skipped: no BOINC client here");
        return;
    }
    // Only root may enter it.
    let dir = tempfile::tempdir().expect("a directory");
    let project = project(dir.path(), &["--listen", "127.0.0.1:0", "--task", "2 s"]);
    is_only(project.id(), nobody);
    let project = attach(dir.path());
    let mut host = client(&dir.path().join("c"), &project);
    let selector = ClientSelector { address: Some(host.client().address()), password: None };
    let running = selector.find().expect("runs");
    is_only(running.pid, nobody);
    let task = || {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid)).expect("runs");
        children.split_whitespace().next().and_then(|pid| pid.parse().ok())
    };
    await_that("a task runs", || {
        task().is_some_and(|pid| Path::new(&format!("/proc/{pid}/status")).exists())
    });
    is_only(task().expect("runs"), nobody);
    // What its owner does with it, who is root.
    await_that("its tasks' time is counted", || host.background_cpu_time().is_ok_and(|time| time > 0.0));
    await_that("its results are taken", || counts(&project.url)["counts"]["valid"].as_u64() > Some(0));
    assert_eq!(owner(&dir.path().join("c/client_state.xml")), nobody);
    drop(host);
    await_that("it is gone", || !Path::new(&format!("/proc/{}", running.pid)).exists());
}

#[test]
fn a_project_of_root_s_is_handed_over_with_a_low_port_and_a_program_that_only_root_may_read() {
    let Some(nobody) = nobody() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let Some(port) = (600..1024).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()) else {
        eprintln!("skipped: no port below 1024 is to be had");
        return;
    };
    let program = path("crosstalk");
    fs::copy(env!("CARGO_BIN_EXE_crosstalk"), &program).expect("copies");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("is ours");
    let start = |more: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(dir.path()).args(["boinc-project", "p"]).args(more);
        let project = project_by(command, dir.path());
        is_only(project.id(), nobody);
        project
    };
    start(&["--listen", &format!("127.0.0.1:{port}"), "--task", "1 s"]).kill();
    // As an earlier version has left it.
    for name in ["p", "p/journal.ndjson", "p/code_key.pem", "p/upload_key.pem", "p/download", "p/upload"] {
        assert_eq!(owner(&path(name)), nobody, "{name}");
        chown(path(name), Some(0), Some(0)).expect("is root's");
    }
    fs::write(path("outside"), "").expect("writes");
    symlink(path("outside"), path("p/upload/link")).expect("links");
    let mut again = start(&[]);
    assert_eq!(attach(dir.path()).url, format!("http://127.0.0.1:{port}/project/"));
    assert_eq!((owner(&path("p")), owner(&path("p/journal.ndjson"))), (nobody, nobody));
    assert_eq!((owner(&path("outside")), owner(&path("p/upload/link"))), (0, 0));
    again.kill();
    // Now that it is nobody's, what is in it leads root nowhere.
    fs::remove_file(path("p/journal.ndjson")).expect("is ours");
    symlink(path("made"), path("p/journal.ndjson")).expect("links");
    lchown(path("p/journal.ndjson"), Some(nobody), None).expect("is ours");
    let refused = finish(command(dir.path(), &["boinc-project", "p"]).spawn().expect("starts"));
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(!path("made").exists());
}

#[test]
fn a_project_of_a_user_who_runs_it_stays_theirs_and_root_leaves_it_to_them() {
    const USER: u32 = 54_321;
    if nobody().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).expect("is ours");
    let mut theirs = command(dir.path(), &["boinc-project", "p", "--listen", "127.0.0.1:0", "--task", "1 s"]);
    theirs.uid(USER).gid(USER);
    let mut project = project_by(theirs, dir.path());
    is_only(project.id(), USER);
    project.kill();
    let refused = finish(command(dir.path(), &["boinc-project", "p"]).spawn().expect("starts"));
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("sudo -u '#54321'"), "{}", stderr(&refused));
    assert_eq!(owner(&dir.path().join("p/journal.ndjson")), USER);
}

#[test]
fn a_project_that_has_become_nobody_s_still_ends_with_its_starter() {
    if nobody().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let words = ["boinc-project", "p", "--listen", "127.0.0.1:0", "--task", "1 s"];
    let mut command = command(dir.path(), &words);
    end_with_starter(&mut command);
    let mut project =
        thread::scope(|scope| scope.spawn(|| project_by(command, dir.path())).join().expect("starts"));
    await_that("it ends", || project.child().try_wait().expect("is ours").is_some());
    assert_eq!(project.child().wait().expect("has ended").signal(), Some(9));
}

#[test]
fn without_the_right_to_become_nobody_root_is_told_what_it_takes() {
    if nobody().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut lacking = Command::new("setpriv");
    lacking.args(["--bounding-set", "-setuid", "--inh-caps", "-setuid"]);
    lacking.arg(env!("CARGO_BIN_EXE_crosstalk")).args(["boinc-project", "p"]).current_dir(dir.path());
    let Ok(output) = lacking.output() else {
        eprintln!("skipped: no setpriv here");
        return;
    };
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("--cap-add SETUID"), "{}", stderr(&output));
    assert!(!dir.path().join("p").exists());
}
