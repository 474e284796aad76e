//! What `crosstalk groups tune` has found, for people.

use crosstalk_core::units::{Bytes, digits, human};
use crosstalk_groups::table;
use crosstalk_users::tune::{
    CachedReads, Conclusion, EQUIVALENT, GroupRecord, LEGEND, NeedsGap, Neighbour, TimeParts, TuneResult,
    numbers, users_in_words,
};

/// The lines, without the file's name.
pub fn text(tuned: &TuneResult) -> Vec<String> {
    let mut lines = vec![String::new(), verdict(tuned)];
    lines.extend(tuned.cached.iter().map(cached));
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
    // Without a difference there is nothing to explain.
    if tuned.is_different() {
        lines.extend(tuned.why.iter().map(|why| format!("Why: {why}.")));
        let cliff = tuned.neighbours.iter().find(|one| tuned.cliff.as_ref() == Some(&one.grouping));
        lines.push(
            cliff.map_or("No cliff: no neighbour that was run takes 5 % longer or more.".into(), cliff_line),
        );
    }
    lines.extend(parts(tuned));
    lines.extend(tuned.neighbours.iter().filter_map(faster_neighbour));
    let locks = tuned.locks_unavailable.iter();
    lines.extend(
        locks.map(|why| format!("Waiting for locks and the time of reclaim are not available: {why}.")),
    );
    if tuned.is_recommended() {
        lines.extend([String::new(), "The groups:".into()]);
        lines.extend(tuned.groups.iter().map(|one| group(one, &tuned.activities)));
        lines.extend([String::new(), "To make them, as root:".into()]);
        lines.extend(tuned.commands.iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What the commands read that was cached before, and what to do.
fn cached(found: &CachedReads) -> String {
    let (read, from_devices) = (human(found.read, "B"), human(found.from_devices, "B"));
    format!(
        "The users' commands read {read}, of which {from_devices} came from the disk. If these are files (pipes and \
         devices count, too), they were cached before, and no group pays for them: these runs do not show what groups \
         do for users whose files are not cached. Run it again with --drop-caches."
    )
}

/// What is not known of users, and what is assumed.
fn needs_gap(NeedsGap { users, why, assumed }: &NeedsGap) -> String {
    format!("What {} need is not known: {why}. It is assumed {assumed}.", numbers(users))
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
                format!("No grouping that was run was faster than plain. {}", no_groups(tuned))
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
        Conclusion::Slower => format!(
            "Plain is better: {words} was {interval} × as fast in {pairs} fresh pairs (95 %). {}",
            no_groups(tuned)
        ),
        Conclusion::Equivalent => format!(
            "{words} and plain: equivalent within {:.0} %; {interval} × as fast in {pairs} fresh pairs (95 %). {}",
            100.0 * EQUIVALENT,
            no_groups(tuned)
        ),
        Conclusion::Inconclusive => format!(
            "Not decided: {words} is between {} and {} than plain, by the makespan of {pairs} fresh pairs (95 %); \
             --pairs {} decides more.",
            change(verdict.low),
            change(verdict.high),
            (5 * pairs / 2).min(1000)
        ),
    }
}

/// What follows if no grouping is shown to be faster.
fn no_groups(tuned: &TuneResult) -> &'static str {
    match tuned.cached {
        None => "No groups are recommended.",
        Some(_) => "That does not decide whether groups help:",
    }
}

/// A ratio of speeds in words: `1.2 % slower`.
fn change(ratio: f64) -> String {
    let (percent, word) = (100.0 * (ratio - 1.0), if ratio < 1.0 { "slower" } else { "faster" });
    format!("{:.1} % {word}", percent.abs())
}

/// What the neighbour did that falls off most.
fn cliff_line(one: &Neighbour) -> String {
    let what = match (&one.killed, one.ratio) {
        (Some(group), _) => format!("group `{group}` was out of memory"),
        (None, Some(ratio)) if one.cut => format!("at least {} × the time; it was cut off", digits(ratio)),
        (None, Some(ratio)) => format!("{} × the time", digits(ratio)),
        (None, None) => "not run".into(),
    };
    let why = one.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!("The cliff, in the search: {}: {what}{why}.", one.words)
}

/// What is to be known of a neighbour that took less time in the search than the chosen one.
fn faster_neighbour(one: &Neighbour) -> Option<String> {
    let ratio = one.ratio.filter(|ratio| *ratio < 0.995 && !one.cut)?;
    Some(format!(
        "{} took {} × the time of the chosen grouping, in single runs of the search. No fresh pairs compare these two.",
        one.words,
        digits(ratio)
    ))
}

/// The parts of a user's time, what explains them, and what the names mean.
fn parts(tuned: &TuneResult) -> Vec<String> {
    let row = |TimeParts { words, counts, .. }: &TimeParts| {
        let time = |seconds| human(seconds, "s");
        [
            words.clone(),
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
        "grouping",
        "mean time",
        "waits",
        "for a CPU",
        "CPU, kernel",
        "CPU, user",
        "for locks",
        "reclaim",
        "refaults",
        "read",
    ];
    let rows: Vec<_> = tuned.parts.iter().map(row).collect();
    let caption = "Times are means over users who do not stream, and over the runs of the search. `waits`: for anything \
                   but a CPU, pauses of their own included.";
    let is_used = |(name, _): &&(&str, &str)| tuned.parts.iter().any(|parts| parts.words.contains(name));
    let legend = LEGEND.iter().filter(is_used).map(|(name, meaning)| format!("`{name}`: {meaning}."));
    std::iter::once(String::new()).chain(table(head, &rows)).chain([caption.into()]).chain(legend).collect()
}

fn group(group: &GroupRecord, activities: &[String]) -> String {
    let limit = group.memory_limit.map(|limit| format!(", {}", human(Bytes(limit).0 as f64, "B")));
    format!("  {}: {}{}", group.name, users_in_words(&group.users, activities), limit.unwrap_or_default())
}

#[cfg(test)]
mod tests;
