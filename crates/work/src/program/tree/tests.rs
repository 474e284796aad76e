//! Tests of `tree`.

use super::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

#[test]
fn a_name_with_brackets_and_blanks_is_no_obstacle() {
    let stat = Stat::parse("12 (a) (b c) Z 7 34 5 0 -1 0 1 2 3 4 50 6 700 8 39 19");
    assert_eq!(stat, Some(Stat { state: 'Z', parent: 7, group: 34, used: 56, waited: 708 }));
    assert_eq!(Stat::parse("12 (a"), None);
}

#[test]
fn children_are_found_where_the_kernel_lists_none() {
    let mut child = Command::new("sleep").arg("60").spawn().expect("starts");
    let (me, pid) = (getpid().as_raw_pid(), Pid::from_child(&child).as_raw_pid());
    assert!(searched_children(me).contains(&pid));
    assert!(listed_children(me).is_none_or(|listed| listed.contains(&pid)));
    child.kill().expect("is ours");
    assert!(searched_children(me).contains(&pid), "it is not waited for yet");
    child.wait().expect("is ours");
    assert!(!searched_children(me).contains(&pid));
}

#[test]
fn children_count_while_they_run_and_after() {
    let counting = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done";
    let script = format!("sh -c '{counting}'; times; read begin; while :; do :; done & read go; kill $!");
    let mut shell = Command::new("sh");
    let mut shell =
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let pid = Pid::from_child(&shell);
    let mut lines = BufReader::new(shell.stdout.take().expect("is piped")).lines();
    let line = lines.by_ref().nth(1).expect("its second line is of its children").expect("is text");
    // As in `0m0.120s 0m0.010s`.
    let waited: f64 = line
        .split_whitespace()
        .map(|time| {
            let (minutes, seconds) = time.trim_end_matches('s').split_once('m').expect("has both");
            60.0 * minutes.parse::<f64>().expect("a number") + seconds.parse::<f64>().expect("a number")
        })
        .sum();
    let read = || children_cpu(pid).map(|time| time.as_secs_f64());
    let first = read().expect("it lives");
    assert!(waited > 0.0 && (first - waited).abs() < 0.03, "{waited} {first}");
    let begin = Instant::now();
    let mut input = shell.stdin.take().expect("is piped");
    input.write_all(b"\n").expect("it reads");
    let second = loop {
        let second = read().expect("it lives");
        if second > first + 0.1 {
            break second;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "a child that runs counts, too");
        sleep(Duration::from_millis(5));
    };
    let most = begin.elapsed().as_secs_f64() + 0.05;
    assert!(second - first < most, "one thread has used {} s in {most} s", second - first);
    input.write_all(b"\n").expect("it reads");
    let ended = Instant::now();
    while read().is_some() {
        assert!(
            ended.elapsed() < Duration::from_secs(30),
            "a process that has ended has no figures, waited for or not"
        );
        sleep(Duration::from_millis(5));
    }
    shell.wait().expect("is ours");
}

#[test]
fn no_process_carries_a_mark_that_was_never_set() {
    let nobody = Pid::from_raw(i32::MAX).expect("is not zero");
    assert_eq!(program_processes(nobody, "never given"), []);
}
