//! What `crosstalk groups tune` has found, for people.

use crosstalk_core::units::{Bytes, digits, human};
use crosstalk_groups::table;
use crosstalk_users::tune::{Conclusion, GroupRecord, NeedsGap, Neighbour, TimeParts, TuneResult};

/// The lines, without the file's name.
pub fn text(tuned: &TuneResult) -> Vec<String> {
    let mut lines = vec![String::new(), verdict(tuned)];
    if let Some(rate) = tuned.verdict.as_ref().and_then(|verdict| verdict.stream_rate) {
        lines.push(format!("Those who stream read {} × as much a second as in plain.", digits(rate)));
    }
    if let Some(estimate) = tuned.estimate.filter(|_| tuned.chosen != "plain") {
        lines.push(format!(
            "The search itself had estimated {} × ({} runs); the best of many estimates is too good.",
            digits(estimate),
            tuned.runs.len()
        ));
    }
    lines.extend(tuned.needs_gap.iter().map(needs_gap));
    lines.extend(tuned.why.iter().map(|why| format!("Why: {why}.")));
    lines.extend(
        tuned.neighbours.iter().map(|one| neighbour(one, tuned.cliff.as_ref() == Some(&one.grouping))),
    );
    if tuned.cliff.is_none() && tuned.chosen != "plain" {
        lines.push("No cliff: no neighbour that was run takes 5 % longer or more.".into());
    }
    lines.extend(parts(&tuned.parts));
    let locks = tuned.locks_unavailable.iter();
    lines.extend(
        locks.map(|why| format!("Waiting for locks and the time of reclaim are not available: {why}.")),
    );
    if tuned.is_recommended() {
        lines.extend([String::new(), "The groups:".into()]);
        lines.extend(tuned.groups.iter().map(group));
        lines.extend([String::new(), "To make them, as root:".into()]);
        lines.extend(tuned.commands.iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What is not known of users, and what is assumed.
fn needs_gap(NeedsGap { users, why, assumed }: &NeedsGap) -> String {
    format!("What {} need is not known: {why}. It is assumed {assumed}.", these(users))
}

/// Users by number; runs of them in short.
fn these(users: &[usize]) -> String {
    let runs = users.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first} to {last}"),
        run => run.iter().map(usize::to_string).collect(),
    });
    let runs: Vec<String> = runs.collect();
    format!("{} {}", if users.len() == 1 { "user" } else { "users" }, runs.join(", "))
}

fn verdict(tuned: &TuneResult) -> String {
    let words = &tuned.words;
    let Some(verdict) = &tuned.verdict else {
        return match (&tuned.killed, tuned.cut) {
            (Some(group), _) if group == "plain" => {
                "No verdict: in a fresh pair plain itself was out of memory. Give more --memory to compare."
                    .into()
            }
            (Some(group), _) => format!(
                "No grouping is recommended: in a fresh pair, group `{group}` of {words} was out of memory."
            ),
            (None, Some(cap)) => format!(
                "No grouping is recommended: in a fresh pair, {words} was cut off after {}.",
                human(cap, "s")
            ),
            (None, None) if tuned.chosen == "plain" => {
                "Plain is as good as every grouping that was run. No groups are recommended.".into()
            }
            (None, None) => format!("Best of all runs: {words} ({}).", tuned.chosen),
        };
    };
    let interval = format!("{} ({}–{})", digits(verdict.speedup), digits(verdict.low), digits(verdict.high));
    let pairs = verdict.pairs.len();
    match verdict.conclusion {
        Conclusion::Faster => {
            format!("{words}: {interval} × as fast as plain, by the makespan of {pairs} fresh pairs (95 %).")
        }
        Conclusion::AsGood => format!(
            "Plain is as good: {words} was {interval} × as fast in {pairs} fresh pairs (95 %). No groups are \
             recommended."
        ),
        Conclusion::Slower => format!(
            "Plain is better: {words} was {interval} × as fast in {pairs} fresh pairs (95 %). No groups are \
             recommended."
        ),
    }
}

/// What a neighbour of the chosen grouping did.
fn neighbour(one: &Neighbour, is_cliff: bool) -> String {
    let what = match (&one.killed, one.ratio) {
        (Some(group), _) => format!("group `{group}` was out of memory"),
        (None, Some(ratio)) if one.cut => format!("at least {} × the time; it was cut off", digits(ratio)),
        (None, Some(ratio)) => format!("{} × the time", digits(ratio)),
        (None, None) => "not run".into(),
    };
    let why = one.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let cliff = if is_cliff { "The cliff" } else { "A neighbour" };
    format!("{cliff}, in the search: {}: {what}{why}.", one.words)
}

/// The parts of a user's time, and what explains them.
fn parts(all: &[TimeParts]) -> Vec<String> {
    let row = |TimeParts { grouping, counts }: &TimeParts| {
        let time = |seconds| human(seconds, "s");
        [
            grouping.clone(),
            time(counts.time),
            time(counts.other_waiting()),
            time(counts.run_delay),
            time(counts.cpu_system),
            time(counts.cpu_user),
            counts.lock_wait.map_or("–".into(), time),
            counts.reclaim_time.map_or("–".into(), time),
            counts.refaults.map_or("–".into(), |pages| format!("{pages:.0}")),
            human(counts.read, "B"),
        ]
    };
    let head = [
        "",
        "a user takes",
        "waits",
        "for a CPU",
        "CPU, kernel",
        "CPU, user",
        "for locks",
        "reclaim",
        "refaults",
        "read",
    ];
    let rows: Vec<_> = all.iter().map(row).collect();
    std::iter::once(String::new()).chain(table(head, &rows)).collect()
}

fn group(group: &GroupRecord) -> String {
    let users: Vec<String> = group.users.iter().map(usize::to_string).collect();
    let limit = group.memory_limit.map(|limit| format!(", {}", human(Bytes(limit).0 as f64, "B")));
    format!("  {}: users {}{}", group.name, users.join(", "), limit.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_named_in_short() {
        assert_eq!(these(&[3]), "user 3");
        assert_eq!(these(&[0, 1, 2, 5, 7, 8]), "users 0 to 2, 5, 7 to 8");
    }
}
