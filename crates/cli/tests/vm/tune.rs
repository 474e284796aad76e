//! `crosstalk groups tune` with control groups of version 2 alone.

use super::{long, vm_with_disk};

#[test]
fn with_version_2_alone_pasted_commands_make_the_groups_that_were_measured() {
    if !long() {
        return;
    }
    let script = r#"
        mount -t cgroup2 none /sys/fs/cgroup
        /usr/sbin/mke2fs -q -t ext4 /dev/vda && mkdir /data && mount -t ext4 /dev/vda /data
        export TMPDIR=/data
        mkdir /data/measured /data/pasted
        cd /data/measured
        printf 'sh /limits.sh 0\nsh /limits.sh 1\n' >jobs
        cat >groupings <<'GROUPINGS'
[{"grouping": "one", "groups": [
  {"name": "", "users": [1], "memory_limit": 50331648}, {"name": "", "users": [0], "memory_limit": 20975616}]}]
GROUPINGS
        crosstalk --json groups tune --commands jobs --memory '80 MiB' --read-rate '40 MB' \
            --exhaustive 1 --groupings groupings >out 2>&1
        echo "== ended"
        echo $?
        grep -v '"result"' out
        tail -n 1 out | sed 's/.*"commands":\["//; s/"\].*//; s/","/\n/g' >commands
        cd /data/pasted
        echo "== pasted"
        sh -e -c "$(cat ../measured/commands)
wait" 2>&1
        for user in 0 1; do
            echo "== measured $user"
            cat ../measured/limits-$user
            echo "== pasted $user"
            cat limits-$user
        done
        exit 0
    "#;
    let limits = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(limits.path(), include_str!("../common/limits.sh")).expect("writes");
    let limits = format!("{}=limits.sh", limits.path().display());
    let Some(parts) = vm_with_disk(&["--file", &limits], script) else { return };
    let part =
        |name: &str| &parts.iter().find(|(said, _)| said == name).unwrap_or_else(|| panic!("{parts:#?}")).1;
    for (user, limit) in [(0, "memory.max 20975616"), (1, "memory.max 50331648")] {
        let (measured, pasted) = (part(&format!("measured {user}")), part(&format!("pasted {user}")));
        assert_eq!(measured, pasted, "{parts:#?}");
        let said = measured.join("\n");
        let all = [limit, "memory.max 83886080", "cpu.weight 100", "rbps=40000000"];
        assert!(all.iter().all(|setting| said.contains(setting)), "{parts:#?}");
    }
}
