//! The program, as tests start it.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod external;
pub mod foreign;
pub mod groups;
pub mod page;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// `crosstalk ARGS` in `dir`, with a deadline.
pub fn crosstalk(dir: &Path, args: &[&str]) -> Output {
    let child = command(dir, args).spawn().expect("crosstalk starts");
    finish(child)
}

/// Whether this host cannot make groups that yield, with a note. Other faults fail the test.
pub fn lacks_groups() -> bool {
    const WHY: [&str; 4] = [
        "there are no control groups",
        "cannot make control groups",
        "cannot create a control group",
        "this group does not offer",
    ];
    let output = crosstalk(Path::new("/"), &["exec", "--background", "--", "true"]);
    let reported = stderr(&output);
    let lacks = output.status.code() == Some(4) && WHY.iter().any(|why| reported.contains(why));
    assert!(lacks || output.status.success(), "{reported}");
    if lacks {
        eprintln!("skipped: {}", reported.trim());
    }
    lacks
}

/// The command; the test starts it.
pub fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosstalk"));
    command
        .args(args)
        .current_dir(dir)
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Waits for its end, and kills it at the deadline.
pub fn finish(mut child: Child) -> Output {
    let began = Instant::now();
    // Read while waiting, so that a full pipe does not block it.
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let out = std::thread::spawn(move || read(&mut stdout));
    let err = std::thread::spawn(move || read(&mut stderr));
    let status = loop {
        if let Some(status) = child.try_wait().expect("waits") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("killed");
            panic!("crosstalk did not end within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    Output { status, stdout: out.join().expect("read"), stderr: err.join().expect("read") }
}

fn read(from: &mut dyn std::io::Read) -> Vec<u8> {
    let mut text = Vec::new();
    from.read_to_end(&mut text).expect("reads");
    text
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Small, in virtual time, so that it needs no namespaces.
const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "Two networks, small messages"
    looks = [8]
    [headline]
    experiment = "b"
    level = "kosmos-srio"
    [experiment.b]
    work.call = { kind = "collective", function = "allreduce", size = "4096 B", nodes = 2 }
    conditions = { system = "$system" }
    factors = { system = ["microblade", "kosmos-srio"] }
    compare = { factor = "system", base = "microblade" }
"#;

pub fn study(dir: &Path) {
    std::fs::write(dir.join("s.toml"), STUDY).expect("writes");
}

/// The same of streams, whose numbers are computed: it runs in one block.
pub fn computed_study(dir: &Path) {
    let call = r#"work.call = { kind = "collective", function = "allreduce", size = "4096 B", nodes = 2 }"#;
    assert!(STUDY.contains(call));
    let streams = STUDY.replace(call, r#"work.stream = { kind = "stream", size = "4096 B" }"#);
    std::fs::write(dir.join("s.toml"), streams).expect("writes");
}

/// The programs for each compression that is read.
pub const PACKERS: [&str; 4] = ["gzip", "bzip2", "xz", "zstd"];

/// A file, compressed by a program; `None` if that is not installed.
pub fn packed(program: &str, file: &Path) -> Option<Vec<u8>> {
    let output = Command::new(program).arg("-c").arg(file).stderr(Stdio::inherit()).output();
    match output {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            println!("skipped: {program} is not installed");
            None
        }
    }
}

/// Other processes with `needle` in their environment or command line.
pub fn left_behind(needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let text = |name| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let line = [text("cmdline"), text("environ")].concat();
        if String::from_utf8_lossy(&line).contains(needle) {
            found.push(String::from_utf8_lossy(&text("cmdline")).replace('\0', " "));
        }
    }
    found
}

pub fn journal(dir: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(dir.join("journal.ndjson")).expect("a journal");
    text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect()
}

pub fn samples(dir: &Path) -> Vec<serde_json::Value> {
    journal(dir).into_iter().filter(|l| l["line"] == "sample").collect()
}

pub fn virtual_nodes(dir: &Path) -> bool {
    let doctor = crosstalk(dir, &["doctor", "--no-load", "--json"]);
    let reported: serde_json::Value =
        serde_json::from_str(stdout(&doctor).lines().last().unwrap_or("{}")).expect("JSON");
    let found = reported["needs"][0]["needs"][0]["state"] == "found";
    if !found {
        eprintln!("skipped: no virtual nodes here: {}", reported["needs"][0]);
    }
    found
}

pub fn await_samples(out: &Path, n: usize) {
    let until = Instant::now() + PATIENCE;
    let is_sample = |line: &&str| line.contains("\"line\":\"sample\"");
    let there = || std::fs::read_to_string(out.join("journal.ndjson")).unwrap_or_default();
    while there().lines().filter(is_sample).count() < n {
        assert!(Instant::now() < until, "no samples came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A child that does not outlive its test.
pub struct Started(pub Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// As Ctrl-C does.
pub fn interrupt(pid: u32) {
    kill("-INT", pid);
}

pub fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}
