//! What a test machine's own kernel lacks, in a small virtual machine (`tools/vm`): RDMA in
//! software, network cards that may be taken away and must come back, and control groups of
//! version 2 alone.

#[path = "vm/groups.rs"]
mod groups;
#[path = "vm/tune.rs"]
mod tune;

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

/// Whether tests of minutes are wanted: each starts a virtual machine for what another one covers in short.
fn long() -> bool {
    let wanted = std::env::var_os("CROSSTALK_LONG").is_some();
    if !wanted {
        eprintln!("skipped: one more virtual machine takes half a minute (CROSSTALK_LONG=1)");
    }
    wanted
}

/// Makes the file system of the machine's disk, which is there in [`vm_with_disk`].
const MAKE_FILE_SYSTEM: &str = "/usr/sbin/mke2fs";

/// The same with control groups of version 2 alone, a disk of 512 MiB, and what makes a file system on it.
fn vm_with_disk(options: &[&str], script: &str) -> Option<Vec<(String, Vec<String>)>> {
    if !Path::new(MAKE_FILE_SYSTEM).exists() {
        eprintln!("skipped: {MAKE_FILE_SYSTEM} is missing (e2fsprogs)");
        return None;
    }
    let disk = ["--kernel", "cgroup_no_v1=all", "--disk", "512", "--file", MAKE_FILE_SYSTEM];
    let modules = ["virtio_blk", "virtio_pci", "ext4", "crc32c_generic"].map(|name| ["--module", name]);
    vm(&[&disk, modules.as_flattened(), options].concat(), script)
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
        until_reported() { for turn in $(seq 100); do grep -q "$1" /guarded && return; sleep 0.1; done; }
        echo "== pressure"
        ls /proc/pressure 2>/dev/null
        crosstalk --json guard --background going --for 15s >/guarded 2>&1 &
        guard=$!
        until_reported "is guarded from now on"
        for name in cpu cpuset memory io; do echo "-$name" > /sys/fs/cgroup/cgroup.subtree_control; done
        until_reported "the cpu controller was taken"
        echo "== left"
        ls -d /sys/fs/cgroup/crosstalk-background-going-*/cpu.weight 2>/dev/null
        kill $owner
        wait $guard
        echo "== code $?"
        echo "== guarded"
        cat /guarded
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
