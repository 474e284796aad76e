//! The lines that an operator types to make the groups found.

use crosstalk_core::units::Bytes;

use super::host::ReadLimit;
use super::names::users_in_words;
use super::plan::{GroupPlan, name};
use crate::mix::Activity;
use crate::population::{Load, Population};

/// The group that all of them are in.
pub const PARENT: &str = "tuned";

const MIB: u64 = 1 << 20;
/// A share of more processors is none: the kernel's weights end there.
const MOST_CPUS: usize = 100;

/// The commands, in the order in which they are typed: they make the groups with all their limits, and start the users'
/// commands. Groups that have the same limit and share are made by one. `read`: the limit of what all read together.
pub fn lines(plans: &[GroupPlan], population: &Population, read: Option<&ReadLimit>) -> Vec<String> {
    let limit = |bytes: Option<Bytes>| {
        bytes.map(|bytes| format!(" --memory-limit {}", size(bytes))).unwrap_or_default()
    };
    let mut lines = vec![format!("crosstalk groups create {PARENT}{}", limit(population.machine().memory))];
    // Groups have equal shares anyway.
    let are_equal = plans.windows(2).all(|two| two[0].users.len() == two[1].users.len());
    let cpus = |group: &GroupPlan| match are_equal {
        true => String::new(),
        false => format!(" --cpus {}", group.users.len().min(MOST_CPUS)),
    };
    let mut made: Vec<(String, Vec<String>)> = Vec::new();
    for (number, group) in plans.iter().enumerate() {
        let options = format!("{}{}", limit(group.limit), cpus(group));
        let name = full_name(number);
        match made.iter_mut().find(|(known, _)| *known == options) {
            Some((_, names)) => names.push(name),
            None => made.push((options, vec![name])),
        }
    }
    lines.extend(
        made.iter().map(|(options, names)| format!("crosstalk groups create {}{options}", names.join(" "))),
    );
    lines.extend(read.into_iter().flat_map(read_lines));
    lines.extend(starts(plans, population));
    lines
}

/// What limits what all groups read together: named groups have no such limit.
fn read_lines(limit: &ReadLimit) -> Vec<String> {
    let ReadLimit { disk: (major, minor), rate: Bytes(rate), blkio } = limit;
    match blkio {
        // Its limits hold for one group alone, and not for those below: the shell enters it, with all that it starts.
        Some(dir) => {
            let dir = quote(&dir.join(PARENT).display().to_string());
            vec![
                format!("mkdir -p {dir}"),
                format!("echo '{major}:{minor} {rate}' > {dir}/blkio.throttle.read_bps_device"),
                format!("echo $$ > {dir}/cgroup.procs"),
            ]
        }
        // Systemd has its own name for what named groups are in.
        None => vec![format!(
            "echo '{major}:{minor} rbps={rate}' | tee /sys/fs/cgroup/crosstalk-groups*/{PARENT}/io.max"
        )],
    }
}

/// What starts the users' commands in their groups. `COMMAND` stands for what users do who have none.
fn starts(plans: &[GroupPlan], population: &Population) -> Vec<String> {
    let exec = |number, what: &str| format!("crosstalk exec --group {} -- {what}", full_name(number));
    let command = |user: &usize| match &population.load {
        Load::Each(each) => match &each[*user] {
            Activity::Run(command) => Some(command.as_str()),
            Activity::Reread(_) | Activity::Stream(_) => None,
        },
        Load::Mix(..) => None,
    };
    let activities = population.activities();
    let of_group = |(number, group): (usize, &GroupPlan)| {
        let (have, have_none): (Vec<usize>, Vec<usize>) =
            group.users.iter().partition(|user| command(user).is_some());
        let commands = have.iter().filter_map(command);
        let commands = commands.map(|command| exec(number, &format!("sh -c {} &", quote(command))));
        let example = (!have_none.is_empty())
            .then(|| exec(number, &format!("COMMAND   # {}", users_in_words(&have_none, &activities))));
        commands.chain(example).collect::<Vec<String>>()
    };
    plans.iter().enumerate().flat_map(of_group).collect()
}

/// The name of the group of this number, as the commands make it.
pub fn full_name(number: usize) -> String {
    format!("{PARENT}/{}", name(number))
}

/// A size as `groups create` reads it, exactly.
fn size(bytes: Bytes) -> String {
    if bytes.0.is_multiple_of(MIB) {
        format!("{}MiB", bytes.0 / MIB)
    } else {
        format!("{}KiB", bytes.0 / 1024)
    }
}

/// A word for the shell, as it is.
pub fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Machine;

    fn group(users: &[usize], mib: Option<u64>) -> GroupPlan {
        GroupPlan { users: users.into(), limit: mib.map(|mib| Bytes(mib * MIB)) }
    }

    #[test]
    fn commands_are_started_in_their_groups() {
        let machine = Machine { memory: Some(Bytes(512 * MIB)), read_rate: None };
        let commands = ["tar c /a", "echo 'b c'", "./d"].map(String::from).into();
        let population = Population::of_commands(commands, machine).expect("three");
        let plans = [group(&[0], Some(64)), group(&[1], Some(64)), group(&[2], None)];
        assert_eq!(
            lines(&plans, &population, None),
            [
                "crosstalk groups create tuned --memory-limit 512MiB",
                "crosstalk groups create tuned/g0 tuned/g1 --memory-limit 64MiB",
                "crosstalk groups create tuned/g2",
                "crosstalk exec --group tuned/g0 -- sh -c 'tar c /a' &",
                r"crosstalk exec --group tuned/g1 -- sh -c 'echo '\''b c'\''' &",
                "crosstalk exec --group tuned/g2 -- sh -c './d' &",
            ]
        );
    }

    #[test]
    fn users_of_a_mix_are_named() {
        let params =
            crosstalk_core::value::Params::default().with("mix", "streaming").with("memory", "64 MiB");
        let population = Population::read(&params.with("users", 3)).expect("is fine");
        let said = lines(&[group(&[0, 2], None), group(&[1], Some(3))], &population, None);
        assert_eq!(said[0], "crosstalk groups create tuned --memory-limit 64MiB");
        assert_eq!(
            said[1..3],
            [
                "crosstalk groups create tuned/g0 --cpus 2",
                "crosstalk groups create tuned/g1 --memory-limit 3MiB --cpus 1"
            ]
        );
        assert_eq!(
            said[3..],
            [
                "crosstalk exec --group tuned/g0 -- COMMAND   # user 1 (stream 200%), user 3 (reread 4.6%)",
                "crosstalk exec --group tuned/g1 -- COMMAND   # user 2 (reread 4.6%)",
            ]
        );
    }

    #[test]
    fn what_all_read_together_is_limited_as_the_version_does() {
        let machine = Machine { memory: None, read_rate: Some(Bytes(200)) };
        let population = Population::of_commands(vec!["a".into(), "b".into()], machine).expect("two");
        let limit = |blkio| ReadLimit { disk: (254, 0), rate: Bytes(200), blkio };
        let said = |blkio| lines(&[group(&[0], None), group(&[1], None)], &population, Some(&limit(blkio)));
        assert_eq!(
            said(Some("/sys/fs/cgroup/blkio".into()))[2..5],
            [
                "mkdir -p '/sys/fs/cgroup/blkio/tuned'",
                "echo '254:0 200' > '/sys/fs/cgroup/blkio/tuned'/blkio.throttle.read_bps_device",
                "echo $$ > '/sys/fs/cgroup/blkio/tuned'/cgroup.procs",
            ]
        );
        assert_eq!(
            said(None)[2],
            "echo '254:0 rbps=200' | tee /sys/fs/cgroup/crosstalk-groups*/tuned/io.max"
        );
    }

    #[test]
    fn a_share_is_no_larger_than_the_kernel_s_weights() {
        let machine = Machine { memory: None, read_rate: None };
        let population = Population::of_commands(vec!["a".into(); 300], machine).expect("many");
        let all: Vec<usize> = (0..299).collect();
        let said = lines(&[group(&all, None), group(&[299], None)], &population, None);
        assert!(said[1].ends_with("--cpus 100") && said[2].ends_with("--cpus 1"), "{said:?}");
    }
}
