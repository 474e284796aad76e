//! Faults of the environment, of paths and of files, reported before anything runs or when they happen.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::Output;

use crate::common::{command, crosstalk, finish, left_behind, stderr, stdout, study};

const RUN: [&str; 6] = ["run", "./s.toml", "--testbed", "local", "--out", "out"];

/// Runs `crosstalk WORDS` in a shell, after the line `before`.
fn shell(dir: &Path, before: &str, words: &str) -> Output {
    let mut command = command(dir, &[]);
    let program = command.get_program().to_os_string();
    command = std::process::Command::new("bash");
    command.args(["-c", &format!("{before}; exec \"$0\" {words}")]).arg(program).current_dir(dir);
    command.output().expect("bash runs")
}

fn refused(output: &Output, code: i32, with: &[&str]) {
    let reported = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{reported}");
    assert!(with.iter().all(|part| reported.contains(part)), "{reported}");
}

#[test]
fn a_journal_that_lost_a_line_is_reported_with_the_attempt_that_does_not_count() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    assert_eq!(crosstalk(dir.path(), &RUN).status.code(), Some(0));
    let path = dir.path().join("out/journal.ndjson");
    let text = fs::read_to_string(&path).expect("reads");
    let lines: Vec<&str> = text.lines().collect();
    let sample = lines.iter().position(|line| line.starts_with("{\"line\":\"sample\"")).expect("a sample");
    let mut less = lines.clone();
    less.remove(sample);
    fs::write(&path, less.join("\n") + "\n").expect("writes");
    let report = crosstalk(dir.path(), &["report", "out"]);
    let reported = stdout(&report) + &stderr(&report);
    let place = format!("journal.ndjson:{} (a line is missing before it); attempt 0 is left out", sample + 1);
    let words: Vec<&str> = reported.split_whitespace().collect();
    assert!(words.join(" ").contains(&place), "{reported}");
}

#[test]
fn without_a_temporary_folder_nothing_starts_and_nothing_is_left() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let file = dir.path().join("file");
    fs::write(&file, "").expect("writes");
    let within = |arguments: &[&str]| {
        let mut command = command(dir.path(), arguments);
        finish(command.env("TMPDIR", &file).env("XDG_RUNTIME_DIR", dir.path()).spawn().expect("starts"))
    };
    let reported = format!("TMPDIR={}: expected a folder, found none", file.display());
    for arguments in [&RUN[..], &["probe", "latency", "--fabric", "none", "-t", "0.1 s"]] {
        refused(&within(arguments), 2, &[&reported, "set TMPDIR to a folder"]);
    }
    assert!(!dir.path().join("out").exists());
    let clean = within(&["clean"]);
    assert_eq!((clean.status.code(), stdout(&clean).trim()), (Some(0), "There was nothing to undo."));
    assert_eq!(left_behind(&file.display().to_string()), Vec::<String>::new());
}

#[test]
fn an_out_that_can_be_no_directory_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    fs::write(dir.path().join("file"), "mine").expect("writes");
    symlink("nowhere", dir.path().join("link")).expect("links");
    let long = "x".repeat(300);
    for out in ["file", "file/within", "/dev/null", "link", &long] {
        let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", out]);
        refused(&output, 2, &["expected a directory", "name a directory that is new or empty with --out"]);
    }
    assert_eq!(fs::read(dir.path().join("file")).expect("reads"), b"mine");
    let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "a\nb\u{1b}[2J"]);
    refused(
        &output,
        2,
        &["a\\nb\\u{1b}[2J: expected a run's directory whose name is UTF-8 without line ends"],
    );
    fs::write(dir.path().join("runs"), "mine").expect("writes");
    refused(
        &crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local"]),
        2,
        &["runs: expected a directory"],
    );
}

#[test]
fn a_file_that_cannot_be_written_is_reported_with_the_cause() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    let full = shell(dir.path(), "ulimit -f 1", "run ./s.toml --testbed local --out out");
    refused(&full, 4, &["File too large"]);
    let closed = shell(dir.path(), "exec >&-", "list");
    refused(&closed, 4, &["standard output: not everything could be written: it is closed"]);
    for (before, words) in
        [("exec >/dev/null", "list"), ("exec 1<>/dev/null", "list"), ("exec <&- 2>&-", "list")]
    {
        assert_eq!(shell(dir.path(), before, words).status.code(), Some(0), "{before}");
    }
    // Signals of the user's programs are not changed.
    let program = shell(dir.path(), "true", "exec -- grep SigIgn /proc/self/status");
    if program.status.success() {
        let ignored = stdout(&program).trim().rsplit('\t').next().map(|mask| u64::from_str_radix(mask, 16));
        assert_eq!(ignored.expect("a mask").expect("digits") >> 24 & 1, 0, "SIGXFSZ, which is 25");
    }
}

#[test]
fn a_study_that_is_no_text_is_refused_with_what_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let utf16: Vec<u8> = "\u{feff}schema = 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    for (bytes, found) in
        [(&utf16[..], "text in UTF-16"), (&gzip, "a gzip file"), (b"PK\x03\x04..", "a zip archive")]
    {
        fs::write(dir.path().join("s.toml"), bytes).expect("writes");
        let reported = format!("s.toml: expected UTF-8 text, found {found}");
        refused(
            &crosstalk(dir.path(), &["plan", "./s.toml"]),
            2,
            &[&reported, "unpack it, or save it as UTF-8"],
        );
    }
}

#[test]
fn meaningless_arguments_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    study(dir.path());
    fs::create_dir(dir.path().join("mine")).expect("makes");
    refused(
        &crosstalk(dir.path(), &["plan", "./s.toml", "--catalogue", "mine"]),
        2,
        &["mine: it holds no catalogue", "at least one of fabrics, systems"],
    );
    let fast = crosstalk(dir.path(), &["probe", "bandwidth", "-b", "1e30"]);
    refused(&fast, 2, &["at most 10 Tbit/s", "leave it out"]);
}

#[test]
fn a_pipe_without_a_reader_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("ff")).status().expect("mkfifo runs");
    assert!(made.success());
    let quick = |flags: &str| {
        let args = ["run", "--runs", "1", "--quiet", "--testbed", "local", "--out", "out"];
        crosstalk(dir.path(), &[&args[..], &flags.split(' ').collect::<Vec<_>>(), &["--", "true"]].concat())
    };
    for flags in ["--export-csv ff", "--export-json ff", "--export-markdown ff", "--save ff --force"] {
        let flag = flags.split(' ').next().expect("a flag");
        refused(
            &quick(flags),
            2,
            &[flag, "cannot write ff: expected a file, found a pipe that nobody reads"],
        );
    }
    // hyperfine's users know it as standard output.
    refused(&quick("--export-json -"), 2, &["--export-json", "expected a file", "--json"]);
    assert!(!dir.path().join("out").exists(), "nothing has run");
    // A pipe with a reader is written to, under any name, and so is /dev/null.
    let mut reader = fs::OpenOptions::new();
    let mut reader = reader
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32)
        .open(dir.path().join("ff"))
        .expect("opens");
    for file in ["ff", "/dev/null", ">(cat > got)"] {
        let words = format!("run --runs 1 --quiet --testbed local --export-csv {file} -- true");
        let output = shell(dir.path(), "true", &words);
        assert_eq!(output.status.code(), Some(0), "{file}: {}", stderr(&output));
    }
    let mut read = String::new();
    std::io::Read::read_to_string(&mut reader, &mut read).expect("reads to the end");
    assert!(read.contains("run_time"), "{read}");
    let got = || fs::read_to_string(dir.path().join("got")).unwrap_or_default();
    assert!(
        crate::common::external::holds_within(crate::common::PATIENCE, || got().contains("run_time")),
        "{}",
        got()
    );
}

#[test]
fn a_value_out_of_range_is_refused_with_the_bound_in_few_digits() {
    let dir = tempfile::tempdir().expect("a directory");
    let vary = ["--nodes", "2", "--vary", "fabric=ethernet-1g,ethernet-10g", "--out", "out", "--", "true"];
    for (args, with) in [
        (
            [&["run", "--scale", "1e300"], &vary[..]].concat(),
            &["at least 8 bit/s", "1.00e300", "--scale"][..],
        ),
        (vec!["probe", "latency", "--fabric", "srio", "--scale", "1e300"], &["--scale", "at least 8 bit/s"]),
        (vec!["probe", "bandwidth", "-b", "1e300"], &["at most 10 Tbit/s", "found 1.00e288 Tbit/s"]),
        (vec!["probe", "latency", "-t", "1e300"], &["at most a day", "found 1.00e300 s"]),
        (vec!["probe", "latency", "-l", "1e30"], &["a size below 8 EiB, found `1e30`"]),
        (vec!["probe", "latency", "-l", "1e30 B"], &["a size below 8 EiB, found `1e30 B`"]),
        (
            vec!["run", "--deadline", "1e300", "--runs", "1", "--", "true"],
            &["--deadline", "at most 365 days"],
        ),
        (vec!["run", "--deadline", "0", "--runs", "1", "--", "true"], &["--deadline", "above zero"]),
    ] {
        let output = crosstalk(dir.path(), &args);
        refused(&output, 2, with);
        assert!(!stderr(&output).contains("00000"), "{}", stderr(&output));
    }
    assert!(fs::read_dir(dir.path()).expect("reads").next().is_none(), "nothing was begun");
}

/// A server that accepts one connection, sends this, and keeps the connection open.
fn other_server(says: &'static [u8]) -> (std::net::SocketAddr, std::thread::JoinHandle<std::net::TcpStream>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
    let at = listener.local_addr().expect("has one");
    let taken = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("is called");
        std::io::Write::write_all(&mut stream, says).expect("says");
        stream
    });
    (at, taken)
}

#[test]
fn a_server_that_is_no_probe_is_refused_with_the_command_to_start_one() {
    let dir = tempfile::tempdir().expect("a directory");
    for (says, found) in [
        (&[0xff; 8][..], "began a message and did not end it in time"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not a message of this protocol"),
    ] {
        let (at, taken) = other_server(says);
        let output = crosstalk(dir.path(), &["probe", "bandwidth", "--to", &at.to_string(), "-t", "0.1"]);
        refused(
            &output,
            4,
            &[&format!("{at}: "), found, &format!("`crosstalk probe bandwidth --listen {at}`")],
        );
        drop(taken.join().expect("was called"));
    }
    let nobody =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
    for kind in ["latency", "load", "bandwidth"] {
        let output = crosstalk(dir.path(), &["probe", kind, "--to", &nobody.to_string()]);
        refused(&output, 4, &[&format!("start the server: `crosstalk probe {kind} --listen {nobody}`")]);
    }
}

/// A study of one ranking of `graph`, which is in `dir`.
fn ranking(dir: &Path, graph: &str) {
    fs::write(dir.join("graph.txt"), graph).expect("writes");
    let text = format!(
        "schema = \"crosstalk.study/1\"\ntitle = \"Lists\"\nlooks = [1]\n[headline]\nexperiment = \"e\"\nlevel = 2\n\
         [experiment.e]\ntitle = \"Lists\"\nconditions = {{ fabric = \"none\" }}\n\
         work.w = {{ kind = \"pagerank\", iterations = \"$n\", graph = {:?} }}\n\
         factors = {{ n = [1, 2] }}\ncompare = {{ factor = \"n\", base = 1 }}\n",
        dir.join("graph.txt")
    );
    fs::write(dir.join("s.toml"), text).expect("writes");
}

#[test]
fn a_heading_of_an_edge_list_is_reported_and_a_third_column_must_be_a_weight() {
    let dir = tempfile::tempdir().expect("a directory");
    ranking(dir.path(), "source,target,when\n1,2,3\n2,1,4\n");
    let output = crosstalk(dir.path(), &RUN);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let reported = stdout(&output) + &stderr(&output);
    assert!(reported.contains("graph.txt:1 is taken for a heading"), "{reported}");
    ranking(dir.path(), "1 2 3\n2 1 nan\n");
    let output = crosstalk(dir.path(), &["run", "./s.toml", "--testbed", "local", "--out", "other"]);
    refused(
        &output,
        2,
        &["graph.txt:2: expected a weight, a number from 0, in the third column, found `nan`"],
    );
}

#[test]
fn a_threshold_that_every_value_exceeds_is_refused_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let plan = |work: &str, metric: &str, expect: &str| {
        let text = format!(
            "schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\n{work}\n\
             [claim.c]\nstatement = \"s\"\nexperiment = \"e\"\nthreshold = {{ metric = \"{metric}\" }}\n\
             expect = \"{expect}\"\n"
        );
        fs::write(dir.path().join("s.toml"), text).expect("writes");
        crosstalk(dir.path(), &["plan", "./s.toml"])
    };
    let program = "factors.c = [1]\nwork.w = { kind = \"command\", argv = \"true\", nodes = \"$c\" }";
    // A metric of a program's own, which has the name of one of ours in the same experiment.
    let custom = "factors.c = [1]\nwork.l = { kind = \"latency\", size = \"64 B\" }\n\
                  work.w = { kind = \"command\", argv = \"echo 1\", nodes = \"$c\", metric = \"round_trip\", \
                  pattern = \"(.)\", unit = \"s\", better = \"lower\" }";
    let spilling = "factors.c = [1, 2]\nconditions.system = \"kosmos-srio\"\nwork.w = { kind = \"bayes\", slaves = \"$c\" }";
    let latency = "factors.c = [\"64 B\"]\nwork.w = { kind = \"latency\", size = \"$c\" }";
    let memory = "factors.c = [\"1 MiB\"]\nwork.w = { kind = \"memory\", size = \"$c\" }";
    for (work, metric, expect) in [
        (program, "run_time", "> 0"),
        (program, "run_time", ">= 0"),
        (program, "run_time", "> -1"),
        (program, "run_time p99", "> 0"),
        (spilling, "completion_time", "> 0"),
        (spilling, "throughput", "> 0"),
        (latency, "round_trip", "> 0"),
        (memory, "load_time", "> 0"),
    ] {
        let place = format!("s.toml:{}: ", 8 + work.lines().count());
        let words = [&place, "is above 0, so that no data could refute", "a bound that may be missed"];
        refused(&plan(work, metric, expect), 2, &words);
    }
    for (work, metric, expect) in [
        (program, "run_time", "> 0.001"),
        (program, "run_time", "< 1"),
        (program, "time_queue", "> 0"),
        (custom, "run_time", "> 0.1"),
        (custom, "round_trip", "> 0"),
        (spilling, "bytes_spilled", "> 0"),
    ] {
        let output = plan(work, metric, expect);
        assert_eq!(output.status.code(), Some(0), "{metric} {expect}: {}", stderr(&output));
    }
    // A run from before is reported as it was.
    plan(program, "run_time", "> 0.001");
    let run = crosstalk(
        dir.path(),
        &["run", "./s.toml", "--runs", "1", "--quiet", "--testbed", "local", "--out", "out"],
    );
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    let file = dir.path().join("out/study.toml");
    let study = fs::read_to_string(&file).expect("reads");
    assert!(study.contains("> 0.001"), "{study}");
    fs::write(&file, study.replace("> 0.001", "> 0")).expect("writes");
    let report = crosstalk(dir.path(), &["report", "out"]);
    assert_eq!(report.status.code(), Some(0), "{}", stderr(&report));
}
