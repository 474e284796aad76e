//! Tests of `account`.

use super::*;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// The account; `None` where this test may not become another user.
fn account() -> Option<Account> {
    match Account::unprivileged() {
        Ok(Some(account)) => return Some(account),
        Ok(None) => eprintln!("skipped: this is not root"),
        Err(fault) => eprintln!("skipped: {fault}"),
    }
    None
}

/// A line of `/proc/PID/status`, without its name.
fn status(child: &Child, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("runs");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.expect("is there").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Real, effective, saved and of the file system: all the same.
fn four(number: u32) -> String {
    [number; 4].map(|number| number.to_string()).join(" ")
}

/// A program that ends with its standard input, as that user.
fn cat(account: Account, folder: &Path) -> Child {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).current_dir(folder);
    account.run_as_user(&mut command);
    command.spawn().expect("cat starts")
}

#[test]
fn nobody_is_who_the_list_of_users_says_and_never_root() {
    let of = |text: &str| Account::nobody(text);
    let usual = Account { user: NOBODY, group: NOBODY };
    assert_eq!(of("root:x:0:0::/:\nnobody:x:99:98:Nobody:/:\n"), Account { user: 99, group: 98 });
    for text in ["", "root:x:0:0::/:", "nobody:x:0:0::/:", "nobody:x:99", "nobodys:x:7:7::/:"] {
        assert_eq!(of(text), usual, "{text}");
    }
}

#[test]
fn a_map_says_who_a_number_is_outside() {
    let map = "         0       1000          1\n         1     100000      65536\n";
    assert_eq!(outside(map, 0), Some(1000));
    assert_eq!(outside(map, 65_534), Some(165_533));
    assert_eq!(outside(map, 65_537), None);
    assert_eq!(outside("0 1000 1\n", NOBODY), None);
    assert_eq!(outside("", 0), None);
}

#[test]
fn a_command_runs_as_the_user_in_a_folder_where_that_user_could_not_go() {
    let Some(account) = account() else { return };
    // Only root may enter it.
    let top = tempfile::tempdir().expect("a temporary folder");
    let folder = top.path().join("folder");
    fs::create_dir(&folder).expect("makes");
    let mut child = cat(account, &folder);
    assert_eq!(status(&child, "Uid"), four(account.user));
    assert_eq!(status(&child, "Gid"), four(account.group));
    assert_eq!((status(&child, "Groups"), status(&child, "CapEff")), (String::new(), "0".repeat(16)));
    drop(child.stdin.take());
    assert!(child.wait().expect("is ours").success());
}

#[test]
fn a_command_ends_with_the_thread_that_started_it() {
    let Some(account) = account() else { return };
    let (quit, wait) = channel::<()>();
    let starter = thread::spawn(move || {
        let child = cat(account, Path::new("/"));
        // Until the other end is dropped.
        let _ = wait.recv();
        child
    });
    drop(quit);
    let mut child = starter.join().expect("ends");
    let until = Instant::now() + Duration::from_secs(20);
    let status = loop {
        // Its input stays open: it does not end by itself.
        if let Some(status) = child.try_wait().expect("is ours") {
            break status;
        }
        if Instant::now() > until {
            child.kill().expect("is ours");
            panic!("it goes on");
        }
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(status.signal(), Some(libc::SIGKILL));
}

#[test]
fn a_folder_is_handed_over_with_what_is_chosen_and_nothing_outside_of_it() {
    let Some(account) = account() else { return };
    let top = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| top.path().join(name);
    for folder in ["in", "in/deep", "out"] {
        fs::create_dir(path(folder)).expect("makes");
    }
    for file in ["in/a", "in/deep/b", "in/stays", "out/c"] {
        fs::write(path(file), "").expect("writes");
    }
    symlink(path("out"), path("in/link")).expect("links");
    symlink(path("out/c"), path("in/deep/link")).expect("links");
    fs::hard_link(path("out/c"), path("in/hard")).expect("links");
    let folder = File::open(path("in")).expect("opens");
    account.hand_over(&folder, |name| name != "stays").expect("is root's");
    let owner = |name: &str| fs::symlink_metadata(path(name)).map(|status| (status.uid(), status.gid()));
    for theirs in ["in", "in/a", "in/deep", "in/deep/b"] {
        assert_eq!(owner(theirs).ok(), Some((account.user, account.group)), "{theirs}");
    }
    for roots in ["", "in/stays", "in/link", "in/deep/link", "in/hard", "out", "out/c"] {
        assert_eq!(owner(roots).ok().map(|owner| owner.0), Some(0), "{roots}");
    }
}
