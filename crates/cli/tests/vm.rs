//! What a test machine's own kernel lacks, in a small virtual machine (`tools/vm`): RDMA in
//! software, network cards that may be taken away and must come back, and control groups of
//! version 2 alone.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Parts of a script's output, by the words after `== `; `None` if there is no such machine here.
fn vm(options: &[&str], script: &str) -> Option<Vec<(String, Vec<String>)>> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("script");
    fs::write(&path, script).expect("writes");
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/vm"));
    let program = concat!(env!("CARGO_BIN_EXE_crosstalk"), "=bin/crosstalk");
    command.args(["run", "--seconds", "400", "--file", program]).args(options).arg(&path);
    let output = command.output().expect("starts");
    let (said, why) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(4) && why.contains(" is missing") {
        eprintln!("skipped: {}", why.lines().next().unwrap_or_default());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}\n{why}");
    let parts = said.split("== ").skip(1).map(|part| {
        let mut lines = part.lines().map(String::from);
        (lines.next().unwrap_or_default(), lines.collect())
    });
    Some(parts.collect())
}

/// Libraries in a folder whose names contain one of `names`, without links.
fn libraries(folder: &str, names: &[&str]) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let wanted = |name: &str| {
        (name.ends_with(".so") || name.contains(".so.")) && names.iter().any(|part| name.contains(part))
    };
    let is_file = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let paths =
        entries.flatten().filter(|entry| is_file(entry) && entry.file_name().to_str().is_some_and(wanted));
    paths.flat_map(|entry| ["--file".to_string(), entry.path().display().to_string()]).collect()
}

/// The embedded program in C, as built, to read which libraries it needs.
fn carried(name: &str) -> Option<String> {
    let built = Path::new(env!("CARGO_BIN_EXE_crosstalk")).parent()?.join("build");
    let found = fs::read_dir(built).ok()?.flatten().map(|entry| entry.path().join("out").join(name));
    let newest = found.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max()?;
    Some(format!("{}=bin/carried-{name}", newest.1.display()))
}

const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

fn reported(lines: &[String]) -> Value {
    let last =
        lines.iter().rfind(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no result in {lines:#?}"));
    serde_json::from_str(last).expect("JSON")
}

fn check_one_way(lines: &[String]) {
    let reported = reported(lines);
    let list = reported["readings"].as_array().unwrap_or_else(|| panic!("no readings in {reported}"));
    let of =
        |metric: &str| list.iter().find(|line| line["reading"]["metric"] == metric).expect("is reported");
    assert!(of("one_way")["n"].as_u64().expect("a number") > 20, "{reported}");
    assert!(of("lost")["reading"]["value"].as_f64().expect("a share") < 0.2, "{reported}");
}

#[test]
fn messages_go_over_software_rdma() {
    let mut options: Vec<String> = [
        "--nics",
        "1",
        "--module",
        "e1000",
        "--module",
        "crc32_generic",
        "--module",
        "rdma_rxe",
        "--module",
        "ib_uverbs",
    ]
    .map(String::from)
    .to_vec();
    for file in ["/usr/bin/rdma", "/etc/libibverbs.d/rxe.driver"] {
        if !Path::new(file).exists() {
            eprintln!("skipped: {file} is missing (iproute2, ibverbs-providers)");
            return;
        }
        options.extend(["--file".to_string(), file.to_string()]);
    }
    let Some(program) = carried("rdma") else {
        eprintln!("skipped: it was built without RDMA verbs");
        return;
    };
    options.extend(["--file".to_string(), program]);
    options.extend(libraries(&format!("{LIBRARIES}/libibverbs"), &["librxe"]));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let script = r#"
        probe() { crosstalk --json probe wire --set transport=rdma --set "duration=300 ms" "$@" 2>&1; }
        echo "== none"
        probe
        ip link set eth0 up && ip addr add 10.0.0.1/24 dev eth0
        /usr/bin/rdma link add rxe0 type rxe netdev eth0
        # The card finds its link a moment after it was set up.
        n=0
        until /usr/bin/rdma link show | grep -q "state ACTIVE" || [ $n -ge 600 ]; do n=$((n+1)); sleep 0.1; done
        for mode in polling blocking; do
            for ends in one-thread two-processes; do
                echo "== times of $mode $ends"
                probe --set mode=$mode --set ends=$ends
            done
        done
        echo "== stages"
        probe --set mode=polling --set ends=one-thread --set stages=true
        echo "== stream"
        probe --set mode=polling --set measure=bandwidth --set size=1024
        echo "== unknown"
        probe --set devices=rxe7
        exit 0
    "#;
    let Some(parts) = vm(&options, script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let none = part("none").join("\n");
    assert!(none.contains("no port of an RDMA device is active") && none.contains("rdma link add"), "{none}");
    let times: Vec<_> = parts.iter().filter(|(name, _)| name.starts_with("times of ")).collect();
    assert_eq!(times.len(), 4, "{parts:#?}");
    times.iter().for_each(|(_, lines)| check_one_way(lines));
    check_one_way(part("stages"));
    let stream = reported(part("stream"));
    assert!(stream["readings"].to_string().contains("frame_rate"), "{stream}");
    let unknown = part("unknown").join("\n");
    assert!(unknown.contains("there is no RDMA device rxe7"), "{unknown}");
}

#[test]
fn dpdk_takes_cards_and_the_kernel_gets_them_back() {
    let mut options: Vec<String> =
        ["--nics", "2", "--module", "e1000", "--module", "uio_pci_generic"].map(String::from).to_vec();
    let dpdk = fs::read_dir(format!("{LIBRARIES}/dpdk")).ok().and_then(|mut found| found.next()?.ok());
    let Some(drivers) = dpdk else {
        eprintln!("skipped: DPDK is missing (libdpdk-dev)");
        return;
    };
    let Some(program) = carried("dpdk") else {
        eprintln!("skipped: it was built without DPDK");
        return;
    };
    options.extend(["--file".to_string(), program]);
    // Those that DPDK loads by itself, and no links to them: it would take each for another one.
    let wanted = ["bus_pci.so.", "bus_vdev.so.", "mempool_ring.so.", "net_e1000.so."];
    options.extend(libraries(&drivers.path().display().to_string(), &wanted));
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let script = r#"
        cards=$(for card in /sys/bus/pci/devices/*; do
            [ "$(cat $card/class)" = 0x020000 ] && basename $card
        done | tr '\n' ',')
        probe() { crosstalk --json probe wire --set transport=dpdk-pci --set "devices=$cards" "$@" 2>&1; }
        state() {
            for card in $(echo $cards | tr ',' ' '); do
                basename $(readlink /sys/bus/pci/devices/$card/driver)
                cat /sys/bus/pci/devices/$card/driver_override
            done
            cat /proc/sys/vm/nr_hugepages
            ls /sys/class/net
            ls /run/crosstalk 2>/dev/null
        }
        touch /watched /kept
        echo "== before"
        state
        ip link set eth0 up
        echo "== in use"
        probe
        ip link set eth0 down
        # (Of two processes that ask again and again each takes one of the machine's two
        # processors, which are emulated: little comes in time.)
        echo "== times of one-thread"
        probe --set ends=one-thread --set "duration=500 ms"
        echo "== after"
        state
        probe --set ends=one-thread --set "duration=100 s" >/dev/null &
        for second in $(seq 30); do
            grep -q . /sys/bus/pci/drivers/uio_pci_generic/0000*/vendor 2>/dev/null && break
            sleep 1
        done
        echo "== taken"
        state
        for process in $(pidof crosstalk); do
            grep -q reap /proc/$process/comm || kill -9 $process
        done
        for second in $(seq 20); do
            [ -e /sys/class/net/eth0 ] && [ -e /sys/class/net/eth1 ] && break
            sleep 1
        done
        sleep 1
        echo "== after the kill"
        state
        exit 0
    "#;
    let Some(parts) = vm(&options, script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let before = part("before");
    let in_use = part("in use").join("\n");
    assert!(in_use.contains("is in use") && in_use.contains("ip link set eth0 down"), "{in_use}");
    check_one_way(part("times of one-thread"));
    assert_eq!(part("after"), before, "{parts:#?}");
    assert!(part("taken").contains(&"uio_pci_generic".to_string()), "{parts:#?}");
    assert_eq!(part("after the kill"), before, "{parts:#?}");
}

#[test]
fn with_version_2_alone_external_work_gives_way_and_a_killed_guard_leaves_nothing() {
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        group() { echo /sys/fs/cgroup/crosstalk-*-$1-*; }
        settings() {
            for file in $2; do echo $file $(cat $(group $1)/$file 2>/dev/null); done
        }
        knobs="cpu.idle cpu.weight cpuset.cpus memory.high memory.max io.weight cgroup.freeze"
        awaits() {
            for turn in $(seq 100); do
                [ "$(cat $(group $1)/$2 2>/dev/null)" = "$3" ] && return
                sleep 0.1
            done
            false
        }
        crosstalk exec --background --name given --memory '64 MiB' --cores 1 --quota 0.5 -- sleep 1000 &
        spin='for n in 1 2; do while :; do :; done & done; wait'
        crosstalk exec --background --name spin -- sh -c "$spin" &
        awaits given cpu.max '50000 100000'
        awaits spin cpu.idle 1
        echo "== nested"
        crosstalk exec --foreground --memory '64 MiB' --cores 1 --quota 0.5 -- \
            crosstalk exec --background --name inner --memory '1 GiB' -- \
            sh -c 'cd /sys/fs/cgroup/crosstalk-background-inner-* && cat memory.max cpuset.cpus cpu.max'
        echo "== controllers"
        cat /sys/fs/cgroup/cgroup.controllers
        echo "== given"
        settings given "cpu.idle memory.max cpuset.cpus cpu.max"
        crosstalk exec --foreground --name mine -- sh -c "$spin" &
        mine=$!
        awaits mine cpu.idle 0
        # Its shells begin while the others have the processors.
        sleep 1
        used() { sed -n 's/usage_usec //p' $(group $1)/cpu.stat; }
        own=$(used mine) external=$(used spin)
        sleep 3
        echo "== shares"
        echo $(( $(used mine) - own )) $(( $(used spin) - external ))
        touch /watched /kept
        echo "== before"
        settings spin "$knobs"
        echo "== guarded"
        # Ends a guard once what it has said fits each of these, within a minute.
        ends_once() {
            said=$1; shift
            for turn in $(seq 600); do
                left=$#
                for pattern; do grep -qE "$pattern" $said && left=$((left - 1)); done
                [ $left = 0 ] && break
                sleep 0.1
            done
            kill $guard
            wait $guard
            cat $said
        }
        crosstalk --json guard --background spin >/guarded &
        guard=$!
        ends_once /guarded '"paused":([1-9]|0[.][6-9])' '"foreground":[1-9]'
        echo "== after"
        settings spin "$knobs"
        crosstalk guard --background spin >/dev/null 2>&1 &
        guard=$!
        echo "== frozen"
        awaits spin cgroup.freeze 1 && echo seen
        kill -9 $guard
        awaits spin cgroup.freeze 0
        sleep 0.5
        echo "== killed"
        settings spin "$knobs"
        # Background work has used much before foreground work begins.
        kill $mine
        wait $mine
        sleep 2
        crosstalk --json guard --background spin >/late &
        guard=$!
        sleep 2
        crosstalk exec --foreground --name late -- sh -c "$spin" &
        echo "== late"
        ends_once /late '"foreground":([2-9][.]|[1-9][0-9])'
        foreign=/sys/fs/cgroup/foreign
        mkdir $foreign
        echo 50 >$foreign/cpu.weight
        echo "== foreign"
        crosstalk guard --background /foreign --for 1s >/dev/null
        cat $foreign/cpu.idle $foreign/cpu.weight
        crosstalk guard --background /foreign >/dev/null 2>&1 &
        guard=$!
        for turn in $(seq 100); do
            [ "$(cat $foreign/cpu.idle)" = 1 ] && echo seen && break
            sleep 0.1
        done
        kill -9 $guard
        for turn in $(seq 100); do
            [ "$(cat $foreign/cpu.idle) $(cat $foreign/cpu.weight)" = "0 50" ] && echo back && break
            sleep 0.1
        done
        exit 0
    "#;
    let Some(parts) = vm(&["--kernel", "cgroup_no_v1=all"], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let controllers = part("controllers").join(" ");
    for name in ["cpu", "cpuset", "memory"] {
        assert!(controllers.split_whitespace().any(|word| word == name), "{controllers}");
    }
    assert_eq!(
        part("given"),
        &["cpu.idle 1", "memory.max 67108864", "cpuset.cpus 1", "cpu.max 50000 100000"]
    );
    assert_eq!(part("nested"), &["67108864", "1", "50000 100000"], "a group has no more than its caller");
    let shares: Vec<f64> =
        part("shares")[0].split_whitespace().map(|part| part.parse().expect("a number")).collect();
    assert!(
        shares[0] > 20.0 * shares[1],
        "foreground work has used {} µs, external {}",
        shares[0],
        shares[1]
    );
    let before = part("before");
    assert!(
        before.contains(&"cpu.idle 1".into()) && before.contains(&"memory.high max".into()),
        "{before:?}"
    );
    assert_eq!(part("after"), before, "{parts:#?}");
    let sums = &reported(part("guarded"))["sums"];
    assert_eq!(sums["highest"], "paused", "foreground work used all processors: {sums}");
    assert!(sums["paused"].as_f64() > Some(0.5) && sums["foreground"].as_f64() > Some(1.0), "{sums}");
    assert_eq!(part("frozen"), &["seen"]);
    assert_eq!(part("killed"), before, "{parts:#?}");
    let late = &reported(part("late"))["sums"];
    assert!(late["foreground"].as_f64() > Some(2.0), "it has two processors: {late}");
    assert_eq!(part("foreign"), &["0", "50", "seen", "back"], "it has its owner's weight again: {parts:#?}");
}

#[test]
fn without_pressure_the_guard_outlives_controllers_that_vanish_and_a_group_that_goes() {
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        crosstalk exec --background --name going -- sleep 1000 &
        owner=$!
        for turn in $(seq 100); do
            [ -d /sys/fs/cgroup/crosstalk-background-going-* ] && break
            sleep 0.1
        done
        vanish() { for name in cpu cpuset memory io; do echo "-$name" > /sys/fs/cgroup/cgroup.subtree_control; done; }
        (sleep 2; vanish; sleep 6; ls -d /sys/fs/cgroup/crosstalk-background-going-*/cpu.weight >/left; kill $owner) &
        echo "== pressure"
        ls /proc/pressure 2>/dev/null
        echo "== guarded"
        crosstalk --json guard --background going --for 15s
        echo "== code $?"
        echo "== left"
        cat /left
        exit 0
    "#;
    let Some(parts) = vm(&["--kernel", "cgroup_no_v1=all psi=0"], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    assert!(part("pressure").iter().all(|line| line.is_empty()), "{parts:#?}");
    part("code 0");
    assert!(part("left").is_empty(), "its controllers have vanished: {parts:#?}");
    let notes = |says: &str| part("guarded").iter().filter(|line| line.contains(says)).count();
    let reported_once =
        ["this kernel does not account for pressure", "the cpu controller was taken", "going has ended"];
    assert_eq!(reported_once.map(notes), [1, 1, 1], "{parts:#?}");
    assert!(reported(part("guarded"))["sums"]["seconds"].as_f64() > Some(5.5), "{parts:#?}");
}

#[test]
fn with_version_2_alone_named_groups_protect_memory() {
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        top=/sys/fs/cgroup/crosstalk-groups
        crosstalk groups create lab 2>&1
        crosstalk groups create lab/db --profile guaranteed --memory '64 MiB' --cpus 0.5 2>&1
        crosstalk groups create lab/app --memory '32 MiB' --memory-limit '64 MiB' 2>&1
        crosstalk groups create rest --profile besteffort 2>&1
        echo "== set"
        cat $top/lab/db/memory.min $top/lab/db/memory.max $top/lab/db/cpu.max $top/lab/db/cpu.weight
        cat $top/lab/app/memory.low $top/lab/app/memory.max $top/rest/cpu.idle
        echo "== protected above"
        cat $top/lab/memory.min $top/lab/memory.low $top/memory.min $top/memory.low
        echo "== within"
        crosstalk exec --group lab/db -- cat /proc/self/cgroup
        crosstalk exec --group lab/db -- sh -c 'exit 7'
        echo $?
        echo "== holds groups"
        crosstalk exec --group lab -- true 2>&1
        crosstalk exec --group lab/app -- sh -c 'sleep 1000 & echo' 2>&1
        crosstalk groups create lab/app/inner 2>&1
        echo "== out of memory"
        crosstalk exec --group lab/app -- sh -c 'head -c 200m /dev/zero | tail -c 150m >/dev/null' 2>&1
        echo "== shown"
        crosstalk --json groups show lab/app
        echo "== removed"
        crosstalk exec --group rest -- sh -c 'head -c 20m /dev/zero >/data; cat /data >/dev/null'
        crosstalk groups remove lab 2>&1
        crosstalk groups remove --kill lab/app
        cat $top/lab/memory.min $top/lab/memory.low
        crosstalk --json groups remove --all
        echo "== left"
        # Its root is in memory: pages of a file go with that.
        rm /data
        ls -d $top /run/crosstalk-groups/*.json 2>/dev/null
        for turn in $(seq 100); do
            grep -q 'nr_dying_descendants 0' /sys/fs/cgroup/cgroup.stat && break
            sleep 0.1
        done
        grep nr_d /sys/fs/cgroup/cgroup.stat
        cat /sys/fs/cgroup/cgroup.subtree_control
        exit 0
    "#;
    let Some(parts) = vm(&["--kernel", "cgroup_no_v1=all"], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let set = ["67108864", "67108864", "50000 100000", "50", "33554432", "67108864", "1"];
    assert_eq!(part("set"), &set);
    let above = ["67108864", "33554432", "67108864", "33554432"];
    assert_eq!(part("protected above"), &above, "else nothing in them would be protected");
    assert_eq!(part("within"), &["0::/crosstalk-groups/lab/db", "7"]);
    let holds = part("holds groups").join("\n");
    assert!(holds.contains("group `lab` holds groups") && holds.contains("processes are in it"), "{holds}");
    let killed = part("out of memory").join("\n");
    assert!(killed.contains("group `lab/app` was out of its memory of 64 MiB"), "{killed}");
    assert!(reported(part("shown"))["groups"] == 1, "{parts:#?}");
    let removed = part("removed");
    assert!(removed[0].contains("lab: 1 process is in it: sleep"), "{removed:#?}");
    assert!(removed.contains(&"67108864".to_string()), "{removed:#?}");
    assert!(reported(removed)["stays"].as_u64().is_some_and(|bytes| bytes >= 20 << 20), "{removed:#?}");
    assert_eq!(part("left"), &["nr_descendants 0", "nr_dying_descendants 0"], "{removed:#?}");
}

#[test]
fn with_version_2_alone_users_keep_protected_memory_beside_one_who_streams() {
    const MAKE_FILE_SYSTEM: &str = "/usr/sbin/mke2fs";
    if !Path::new(MAKE_FILE_SYSTEM).exists() {
        eprintln!("skipped: {MAKE_FILE_SYSTEM} is missing (e2fsprogs)");
        return;
    }
    // The reader's pages are three quarters of what is protected for its group.
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        /usr/sbin/mke2fs -q -t ext4 /dev/vda && mkdir /data && mount -t ext4 /dev/vda /data
        export TMPDIR=/data
        cat >/study.toml <<'STUDY'
schema = "crosstalk.study/1"
title = "Users"
looks = [2]
seed = 1
[experiment.users]
factors = { isolation = ["lru", "protection"] }
[experiment.users.work.users]
kind = "users"
users = 2
mix = "reread"
jobs = 40
work = 0.2
groups = 2
isolation = "$isolation"
memory = "64 MiB"
working_set = 0.375
read_rate = "40 MB"
streamers = 1
streamers_apart = true
STUDY
        echo "== run"
        crosstalk run /study.toml --out /data/run --testbed local 2>&1
        echo "== journal"
        cat /data/run/journal.ndjson
        echo "== left"
        ls -d /sys/fs/cgroup/crosstalk* 2>/dev/null
        exit 0
    "#;
    let options = [
        ["--kernel", "cgroup_no_v1=all"],
        ["--disk", "512"],
        ["--module", "virtio_blk"],
        ["--module", "virtio_pci"],
        ["--module", "ext4"],
        ["--module", "crc32c_generic"],
        ["--file", MAKE_FILE_SYSTEM],
    ];
    let Some(parts) = vm(&options.concat(), script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let lines: Vec<Value> =
        part("journal").iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let attempts = |isolation: &str| {
        let of =
            lines.iter().filter(|line| line["line"] == "attempt" && line["levels"]["isolation"] == isolation);
        of.map(|line| line["attempt"].clone()).collect::<Vec<_>>()
    };
    let refaults = |isolation: &str| {
        let attempts = attempts(isolation);
        let readers = lines.iter().filter(|line| {
            attempts.contains(&line["attempt"])
                && line["metric"] == "group_refaults"
                && line["labels"]["group"] == "0"
        });
        readers.filter_map(|line| line["value"].as_f64()).sum::<f64>()
    };
    let [alone, protected] = ["lru", "protection"].map(refaults);
    assert!(4.0 * protected < alone, "{protected} against {alone}: {:#?}", part("run"));
    assert!(part("left").is_empty(), "{parts:#?}");
}

#[test]
fn with_version_2_alone_groups_are_protected_and_ended_by_rule() {
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        top=/sys/fs/cgroup/crosstalk-groups
        crosstalk groups create m --memory-limit '96 MiB' 2>&1
        crosstalk groups create m/user m/other 2>&1
        crosstalk exec --group m/user -- sleep 1000 &
        until [ "$(cat $top/m/user/memory.current)" -gt 0 ]; do sleep 0.1; done
        settings() { cat $top/m/user/cpu.weight $top/m/cpu.weight; cat $top/m/user/memory.low $top/memory.low | grep -vc '^0$'; }
        touch /watched /kept
        echo "== before"
        settings
        crosstalk --json groups show --watch --protect m/user >/watched &
        watch=$!
        until grep -q '"protection":true' /watched; do sleep 0.1; done
        echo "== protected"
        settings
        kill -INT $watch
        wait $watch
        echo "== after"
        settings
        echo "== needs"
        crosstalk --json groups show --working-set --window '100 ms' m/user 2>&1
        crosstalk --json groups keep >/kept &
        keep=$!
        until grep -q keeps /kept; do sleep 0.1; done
        echo "== held"
        cat $top/m/memory.high $top/m/memory.oom.group
        crosstalk exec --group m/other -- sh -c 'head -c 600m /dev/zero | tail -c 500m >/dev/null' 2>/dev/null
        echo "== ended"
        until grep -q ended /kept; do sleep 0.1; done
        cat /kept
        kill -INT $keep
        wait $keep
        echo "== left"
        cat $top/m/memory.high
        grep '^oom_kill ' $top/m/memory.events
        cat $top/m/user/cgroup.procs | wc -l
        crosstalk groups remove --all --kill >/dev/null
        exit 0
    "#;
    let Some(parts) = vm(&["--kernel", "cgroup_no_v1=all psi=1"], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    assert_eq!(part("before"), &["100", "100", "0"]);
    assert_eq!(part("protected"), &["10000", "10000", "2"], "memory.low, also of all groups together");
    assert_eq!(part("after"), part("before"));
    let needs = part("needs").join("\n");
    assert!(needs.contains("\"stopped\":\"nothing-left\""), "anonymous memory, and no swap: {needs}");
    assert_eq!(part("held"), &["97517568", "0"]);
    let ended = part("ended").join("\n");
    assert!(ended.contains("\"event\":\"ended\",\"group\":\"m/other\""), "{ended}");
    assert_eq!(part("left"), &["max", "oom_kill 0", "1"]);
}
