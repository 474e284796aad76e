//! The workload `users`: many users on one machine, together and in groups; and how `groups tune` groups them.

mod common;
#[path = "users/groupings.rs"]
mod groupings;
#[path = "users/tune.rs"]
mod tune;

use common::external::await_that;
use common::{crosstalk, samples, stderr};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::{Mutex, PoisonError};

/// One run at a time: each looks whether its own groups are gone.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a study of one workload, with these parameters and factors. No control group is left then.
fn run(dir: &Path, parameters: &str, factors: &str) -> Output {
    let study = format!(
        "schema = \"crosstalk.study/1\"\ntitle = \"Users\"\nlooks = [1]\nseed = 1\n\n[experiment.users]\n\
         work.users = {{ kind = \"users\", {parameters} }}\nfactors = {{ {factors} }}\n"
    );
    fs::write(dir.join("users.toml"), study).expect("writes");
    serially(|| crosstalk(dir, &["run", "./users.toml", "--out", "run", "--testbed", "local"]), || ())
}

/// Runs one program at a time. No control group is left then, and `check` passes.
fn serially(run: impl FnOnce() -> Output, check: impl FnOnce()) -> Output {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = groups();
    let output = run();
    // Others may run such studies meanwhile, too: their groups hold processes, or go by themselves.
    await_that("no group is left", || groups().difference(&before).all(|group| is_in_use(Path::new(group))));
    check();
    output
}

/// Whether a process is in this control group, or in one directly below it.
fn is_in_use(group: &Path) -> bool {
    let below = fs::read_dir(group).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut groups = below.filter(|path| path.is_dir()).chain([group.to_path_buf()]);
    groups.any(|group| fs::read_to_string(group.join("cgroup.procs")).is_ok_and(|text| !text.is_empty()))
}

/// All values of a metric.
fn values(dir: &Path, metric: &str) -> Vec<f64> {
    let samples = samples(&dir.join("run"));
    samples.iter().filter(|line| line["metric"] == metric).filter_map(|line| line["value"].as_f64()).collect()
}

/// The control groups that users of studies are in.
fn groups() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![Path::new("/sys/fs/cgroup").to_path_buf()];
    while let Some(folder) = open.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.display().to_string();
            if name.contains("crosstalk-study-users") {
                found.insert(name);
            } else if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    found
}

#[test]
fn readers_in_groups_beside_a_streaming_user_report_makespan_sum_and_bias() {
    let dir = tempfile::tempdir().expect("a directory");
    let parameters = "users = 6, mix = \"reread\", jobs = 5, work = 0.05, groups = 3, isolation = \"$isolation\", \
                      memory = \"96 MiB\", streamers = 1, streamers_apart = true, waits = true";
    let output = run(
        dir.path(),
        parameters,
        "isolation = [\"none\", \"drivers\", \"cpu\", \"lru\", \"limits\", \"group\"]",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let metrics: BTreeMap<&str, Vec<f64>> =
        ["makespan", "jobs_per_minute", "jobs_per_minute_summed", "sum_bias", "stream_rate"]
            .map(|metric| (metric, values(dir.path(), metric)))
            .into();
    for (metric, values) in &metrics {
        assert_eq!(values.len(), 6, "{metric}: 6 cells");
        assert!(values.iter().all(|value| *value > 0.0), "{metric}: {values:?}");
    }
    // Five readers with five jobs each.
    let rates = metrics["makespan"].iter().zip(&metrics["jobs_per_minute"]);
    rates.for_each(|(makespan, rate)| assert!((makespan * rate / 60.0 - 25.0).abs() < 1e-6));
    // Who streams through more than the memory takes pages away, if it has the time.
    let reclaimed = values(dir.path(), "reclaimed");
    assert!(reclaimed.len() == 6 && reclaimed.iter().sum::<f64>() > 0.0, "{reclaimed:?}");
    // Groups end no later than the last of them, so their sum is not below.
    assert!(metrics["sum_bias"].iter().all(|bias| *bias >= 1.0 - 1e-9), "{:?}", metrics["sum_bias"]);
}

#[test]
fn users_of_every_mix_do_their_jobs() {
    let dir = tempfile::tempdir().expect("a directory");
    let parameters =
        "users = 3, mix = \"$mix\", jobs = 60, work = 0.001, groups = 2, isolation = \"folders\"";
    let output = run(dir.path(), parameters, "mix = [\"shared\", \"compute\", \"dbase\", \"fserver\"]");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(values(dir.path(), "makespan").len(), 4, "4 cells");
    let cpu = ["cpu_user", "cpu_system"].map(|metric| values(dir.path(), metric).iter().sum::<f64>());
    assert!(cpu.iter().sum::<f64>() > 0.0, "{cpu:?}");
}

#[test]
fn a_mix_that_lists_users_runs_as_many_as_it_has() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("own.mix"), "2 users run test 1 = 1 # fine\n1 user reread 64K\n")
        .expect("writes");
    let mix = dir.path().join("own.mix");
    let parameters = format!("mix = \"{}\", jobs = \"$jobs\", work = 0.05, groups = 3", mix.display());
    let parameters = format!("{parameters}, isolation = \"drivers\", memory = \"64 MiB\"");
    let output = run(dir.path(), &parameters, "jobs = [2]");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let makespans = values(dir.path(), "makespan");
    assert_eq!(makespans.len(), 1);
    let rates = makespans.into_iter().zip(values(dir.path(), "jobs_per_minute"));
    // Two commands once each, and two jobs of a reader.
    rates.for_each(|(makespan, rate)| assert!((makespan * rate / 60.0 - 4.0).abs() < 1e-6));
}

#[test]
fn users_in_containers_and_under_overlays_do_their_jobs_and_leave_nothing() {
    if !["dockerd", "docker"].iter().all(|name| crosstalk_work::program::find(name).is_ok()) {
        println!("skipped: Docker is not installed");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let parameters = "users = 4, mix = \"$mix\", jobs = 30, work = 0.01, groups = 2, isolation = \"$isolation\", \
                      memory = \"256 MiB\"";
    let factors = "mix = [\"shared\", \"reread\"], isolation = [\"docker\", \"mounts\"]";
    let output = run(dir.path(), parameters, factors);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let makespans = values(dir.path(), "makespan");
    assert_eq!(makespans.len(), 4, "4 cells: {}", stderr(&output));
    // All users did all jobs, wherever they were.
    let rates = makespans.iter().zip(values(dir.path(), "jobs_per_minute"));
    rates.for_each(|(makespan, rate)| assert!((makespan * rate / 60.0 - 120.0).abs() < 1e-6));
}

#[test]
fn a_group_without_memory_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    // Two groups share what one process hardly runs in.
    let parameters = "users = 2, mix = \"shared\", jobs = 200, work = 1, groups = 2, isolation = \"limits\", memory = \"$memory\"";
    let output = run(dir.path(), parameters, "memory = [\"6 MiB\"]");
    let said = stderr(&output);
    assert!(said.contains("out of memory") && said.contains("group "), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_container_without_memory_is_named_also_if_it_has_ended() {
    if !["dockerd", "docker"].iter().all(|name| crosstalk_work::program::find(name).is_ok()) {
        println!("skipped: Docker is not installed");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let needs = "head -c 400m /dev/zero | tail -c 300m >/dev/null";
    // The kernel prefers the driver, which is the user's parent: with it the container ends.
    let driver = "$(sed -n 's/PPid:.//p' /proc/$PPID/status)";
    let commands = [needs.to_string(), format!("echo 1000 >/proc/{driver}/oom_score_adj; {needs}")];
    for (number, command) in commands.iter().enumerate() {
        let mix = dir.path().join(format!("{number}.mix"));
        fs::write(&mix, format!("1 user run {command}\n1 user run sleep 60\n")).expect("writes");
        let parameters =
            format!("mix = \"{}\", groups = 2, isolation = \"docker\", memory = \"$memory\"", mix.display());
        let output = run(dir.path(), &parameters, "memory = [\"64 MiB\"]");
        let said = stderr(&output);
        assert!(said.contains("group `group-0` is out of memory"), "{command}: {said}");
        fs::remove_dir_all(dir.path().join("run")).expect("is there");
    }
}

#[test]
fn a_ramp_ends_with_its_peak() {
    let dir = tempfile::tempdir().expect("a directory");
    let ramp = |more: &[&str]| {
        let arguments = ["--json", "probe", "users", "--work", "0.001", "--set", "jobs=20"];
        crosstalk(dir.path(), &[&arguments, more].concat())
    };
    let output = ramp(&["--from", "2", "--to", "7", "--step", "3"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let levels: Vec<u64> = lines.iter().filter_map(|line| line["users"].as_u64()).collect();
    assert_eq!(levels, [2, 5]);
    let last = lines.last().expect("a result");
    assert!(last["peak"]["users"].as_u64().is_some_and(|users| levels.contains(&users)), "{last}");
    let output = ramp(&["--set", "users=2"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--from"), "{}", stderr(&output));
}

#[test]
fn parameters_are_refused_before_anything_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let cases = [
        ("users = 2, groups = \"$x\"", "x = [3]", "groups"),
        ("users = 2, isolation = \"$x\"", "x = [\"limit\"]", "did you mean `limits`?"),
        ("users = 2, mix = \"$x\"", "x = [\"share\"]", "did you mean `shared`?"),
        ("users = 2, mix = \"reread\", jobs = \"$x\"", "x = [1]", "memory"),
        ("users = 2, isolation = \"limits\", jobs = \"$x\"", "x = [1]", "memory"),
    ];
    for (parameters, factors, expected) in cases {
        let output = run(dir.path(), parameters, factors);
        assert_eq!(output.status.code(), Some(2), "{parameters}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{parameters}: {}", stderr(&output));
    }
}
