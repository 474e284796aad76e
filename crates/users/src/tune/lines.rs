//! The lines that an operator types to make the groups found.

use crosstalk_core::units::Bytes;

use super::place::{Placed, name};
use crate::mix::Activity;
use crate::population::{Load, Population};

/// The group that all of them are in.
pub const PARENT: &str = "tuned";

const MIB: u64 = 1 << 20;

/// The commands: groups that have the same limit and share are made by one. `memory`: of all together, if it is limited.
pub fn lines(placed: &[Placed], population: &Population, memory: Option<Bytes>) -> Vec<String> {
    let limit = |bytes: Option<Bytes>| {
        bytes.map(|bytes| format!(" --memory-limit {}", size(bytes))).unwrap_or_default()
    };
    let mut lines = vec![format!("crosstalk groups create {PARENT}{}", limit(memory))];
    let mut made: Vec<(String, Vec<String>)> = Vec::new();
    for (number, group) in placed.iter().enumerate() {
        let options = format!("{} --cpus {}", limit(group.limit), group.users.len());
        let name = full_name(number);
        match made.iter_mut().find(|(known, _)| *known == options) {
            Some((_, names)) => names.push(name),
            None => made.push((options, vec![name])),
        }
    }
    lines.extend(
        made.iter().map(|(options, names)| format!("crosstalk groups create {}{options}", names.join(" "))),
    );
    lines.extend(starts(placed, population));
    lines
}

/// What starts the users' commands in their groups, or an example where they have none.
fn starts(placed: &[Placed], population: &Population) -> Vec<String> {
    let exec = |number, what: &str| format!("crosstalk exec --group {} -- {what}", full_name(number));
    let command = |user: &usize| match &population.load {
        Load::Each(each) => match &each[*user] {
            Activity::Run(command) => Some(command.as_str()),
            Activity::Reread(_) | Activity::Stream(_) => None,
        },
        Load::Mix(..) => None,
    };
    let users = placed
        .iter()
        .enumerate()
        .flat_map(|(number, group)| group.users.iter().map(move |user| (number, user)));
    let lines = users.map(|(number, user)| Some(exec(number, &format!("sh -c {} &", quote(command(user)?)))));
    lines.collect::<Option<_>>().unwrap_or_else(|| vec![exec(0, "COMMAND")])
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

    fn group(users: &[usize], mib: Option<u64>) -> Placed {
        Placed { users: users.into(), limit: mib.map(|mib| Bytes(mib * MIB)) }
    }

    #[test]
    fn commands_are_started_in_their_groups() {
        let machine = Machine { memory: None, read_rate: None };
        let commands = ["tar c /a", "echo 'b c'", "./d"].map(String::from).into();
        let population = Population::of_commands(commands, machine).expect("three");
        let placed = [group(&[0], Some(64)), group(&[1], Some(64)), group(&[2], None)];
        assert_eq!(
            lines(&placed, &population, Some(Bytes(512 * MIB))),
            [
                "crosstalk groups create tuned --memory-limit 512MiB",
                "crosstalk groups create tuned/g0 tuned/g1 --memory-limit 64MiB --cpus 1",
                "crosstalk groups create tuned/g2 --cpus 1",
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
        assert_eq!(said[0], "crosstalk groups create tuned");
        assert_eq!(said[3..], ["crosstalk exec --group tuned/g0 -- COMMAND"]);
    }
}
