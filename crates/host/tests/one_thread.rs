//! What only a process with one thread may do: copy itself, and move its program break. This program owns its
//! `main`, because the usual one runs tests in threads.

use std::fs;
use std::process::{self, ExitCode};
use std::time::Duration;

use crosstalk_host::process::{PANICKED, catch_own_signals, fork_child, fork_in_turn, is_there, send};
use crosstalk_host::program_break::{Moves, move_break};

/// The longest time for anything, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

type Spec = (&'static str, fn());

const SPECS: &[Spec] = &[
    ("a_child_ends_with_its_functions_code", a_child_ends_with_its_functions_code),
    ("a_child_that_panics_returns_to_nobody", a_child_that_panics_returns_to_nobody),
    ("a_wait_has_a_deadline_and_a_dropped_child_is_gone", a_wait_has_a_deadline_and_a_dropped_child_is_gone),
    ("a_signal_that_ends_a_child_is_reported", a_signal_that_ends_a_child_is_reported),
    ("children_in_turn_are_all_waited_for", children_in_turn_are_all_waited_for),
    ("the_break_is_where_it_was_and_its_pages_were_new", the_break_is_where_it_was_and_its_pages_were_new),
    ("own_signals_are_all_caught", own_signals_are_all_caught),
];

fn main() -> ExitCode {
    for (name, spec) in SPECS {
        spec();
        println!("test {name} ... ok");
    }
    println!("test result: ok. {} passed; 0 failed", SPECS.len());
    ExitCode::SUCCESS
}

fn a_child_ends_with_its_functions_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("written");
    let mut child =
        fork_child(|| fs::write(&path, process::id().to_string()).map_or(1, |()| 7)).expect("forks");
    let pid = child.id();
    let ended = child.wait(Some(PATIENCE)).expect("waits").expect("has ended");
    assert_eq!(ended.status.code(), Some(7));
    assert!(ended.usage.minor_faults > 0, "a copy faults at its first write: {:?}", ended.usage);
    assert_eq!(fs::read_to_string(&path).expect("is there"), pid.to_string());
}

fn a_child_that_panics_returns_to_nobody() {
    let before = process::id();
    // The message goes to stderr; it is not a failure of this test.
    let mut child = fork_child(|| panic!("as a test of panics")).expect("forks");
    let ended = child.wait(None).expect("waits").expect("has ended");
    assert_eq!(ended.status.code(), Some(i32::from(PANICKED)));
    assert_eq!(process::id(), before);
}

fn a_wait_has_a_deadline_and_a_dropped_child_is_gone() {
    let mut child = fork_child(|| {
        loop {
            std::thread::park();
        }
    })
    .expect("forks");
    let pid = child.id();
    assert!(child.wait(Some(Duration::from_millis(1))).expect("waits").is_none());
    assert!(is_there(pid));
    drop(child);
    assert!(!is_there(pid));
}

fn a_signal_that_ends_a_child_is_reported() {
    use std::os::unix::process::ExitStatusExt;
    let mut child = fork_child(|| {
        loop {
            std::thread::park();
        }
    })
    .expect("forks");
    send(child.id(), 15);
    let ended = child.wait(Some(PATIENCE)).expect("waits").expect("has ended");
    assert_eq!(ended.status.signal(), Some(15));
}

fn children_in_turn_are_all_waited_for() {
    let ends = fork_in_turn(5, || 3).expect("forks");
    assert_eq!(ends.iter().map(|end| end.code()).collect::<Vec<_>>(), [Some(3); 5]);
}

fn the_break_is_where_it_was_and_its_pages_were_new() {
    // The end of the heap, from `/proc`; reading it twice lets the allocator take what it needs for that.
    let heap = || {
        let maps = fs::read_to_string("/proc/self/maps").expect("reads");
        maps.lines()
            .find(|line| line.ends_with("[heap]"))
            .and_then(|line| Some(line.split(' ').next()?.to_owned()))
    };
    let before = [heap(), heap()];
    let moves = Moves { above: 1 << 20, rounds: 10, pages: 16, stride: Some(128) };
    assert_eq!(move_break(moves).expect("moves"), 160);
    assert_eq!(heap(), before[1]);
    assert_eq!(move_break(Moves { stride: None, ..moves }).expect("moves"), 0);
    // The allocator grows the heap over the same addresses.
    let grown: Vec<Vec<u8>> = (0..100).map(|_| vec![7; 30_000]).collect();
    assert!(grown.iter().flatten().all(|&byte| byte == 7));
}

fn own_signals_are_all_caught() {
    assert_eq!(catch_own_signals(50).expect("sends"), 50);
    assert_eq!(catch_own_signals(0).expect("sends"), 0);
}
