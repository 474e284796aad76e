//! Named groups, and groups of a study's users, with control groups of version 2 alone.

use super::{long, reported, vm, vm_with_disk};
use serde_json::Value;

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
fn with_version_2_alone_named_groups_are_changed_while_programs_run() {
    if !long() {
        return;
    }
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        top=/sys/fs/cgroup/crosstalk-groups
        crosstalk groups create lab lab/db rest --memory-limit '128 MiB' 2>&1
        echo "== guaranteed"
        crosstalk groups set lab/db --profile guaranteed --memory '96 MiB' --cpus 0.5 2>&1
        cat $top/lab/db/memory.min $top/lab/db/memory.max $top/lab/db/cpu.max $top/lab/db/cpu.weight
        cat $top/lab/memory.min $top/memory.min
        echo "== burstable"
        crosstalk groups set lab/db --profile burstable --memory '32 MiB' --cpus none 2>&1
        cat $top/lab/db/memory.min $top/lab/db/memory.low $top/lab/db/memory.max
        cat $top/lab/db/cpu.max $top/lab/db/cpu.weight $top/lab/memory.min $top/lab/memory.low $top/memory.min
        echo "== idle"
        crosstalk groups set rest --profile besteffort
        cat $top/rest/cpu.idle
        crosstalk groups set rest --profile burstable --cpus 2 >/dev/null 2>&1
        cat $top/rest/cpu.idle $top/rest/cpu.weight
        echo "== too low"
        crosstalk exec --group rest -- sh -c '(head -c 64m /dev/zero | tail -c 48m | sleep 1000) >/dev/null 2>&1 &'
        for turn in $(seq 100); do
            test $(cat $top/rest/memory.current) -gt 41943040 && break
            sleep 0.1
        done
        crosstalk groups set lab/db rest --profile besteffort --memory-limit '8 MiB' 2>&1
        echo $?
        cat $top/rest/memory.max $top/rest/cpu.idle $top/lab/db/memory.max $top/lab/db/memory.low $top/lab/db/cpu.weight
        grep 'oom_kill ' $top/rest/memory.events
        crosstalk groups create aside --profile besteffort
        crosstalk groups set aside rest --profile burstable --cpus 2 --memory-limit '8 MiB' >/dev/null 2>&1
        cat $top/aside/cpu.idle $top/aside/memory.max
        crosstalk clean
        echo "== removed"
        crosstalk groups remove --all --kill --yes
        exit 0
    "#;
    let Some(parts) = vm(&["--kernel", "cgroup_no_v1=all"], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    let guaranteed = ["100663296", "100663296", "50000 100000", "50", "100663296", "100663296"];
    assert_eq!(part("guaranteed")[1..], guaranteed, "those above protect it, too");
    let burstable = ["0", "33554432", "max", "max 100000", "100", "0", "33554432", "0"];
    assert_eq!(part("burstable")[1..], burstable);
    assert_eq!(part("idle")[1..], ["1", "0", "200"]);
    let too_low = part("too low");
    assert!(too_low[0].contains("`rest` uses ") && too_low[0].contains("limit of 8 MiB"), "{too_low:#?}");
    let set_back = ["4", "134217728", "0", "max", "33554432", "100", "oom_kill 0"];
    let at = too_low.iter().position(|line| line == "4").expect("an exit code");
    assert_eq!(too_low[at..at + set_back.len()], set_back, "nothing is killed, and all is set back");
    assert_eq!(too_low[at + set_back.len()..][..3], ["made aside", "1", "max"]);
    assert!(too_low.contains(&"There was nothing to undo.".to_string()), "{too_low:#?}");
}

#[test]
fn with_version_2_alone_users_keep_protected_memory_beside_one_who_streams() {
    if !long() {
        return;
    }
    // The reader's pages are three quarters of what is protected for its group. Its pauses alone take 2.4 s, in
    // which the one who streams passes through three times the memory, however fast the machine is.
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
jobs = 120
work = 0.2
groups = 2
isolation = "$isolation"
memory = "64 MiB"
working_set = 0.375
read_rate = "80 MB"
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
    let Some(parts) = vm_with_disk(&[], script) else { return };
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
        crosstalk groups remove --all --kill --yes >/dev/null
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
