//! `crosstalk groups tune`: how to group users.

use std::ffi::OsString;
use std::fs;

use crosstalk_core::Fault;
use crosstalk_core::units::{Bytes, digits, human};
use crosstalk_core::value::Params;
use crosstalk_groups::table;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_users::population::{Machine, Population};
use crosstalk_users::tune::{
    Beside, Conclusion, Ending, GroupRecord, Parts, Progress, TuneRequest, Tuned, memory_of_host, quote, tune,
};
use serde_json::json;

use crate::args::GroupsTuneArgs;
use crate::out::{Out, print_note};
use crate::result_file::{writable, write};
use crate::signal;

/// The users who run a command, if no number is given.
const USERS_OF_A_COMMAND: usize = 2;

/// Runs `crosstalk groups tune`.
pub fn main(args: &GroupsTuneArgs, out: &Out) -> Result<(), Fault> {
    let interrupted = signal::interrupted()?;
    let population = population(args).map_err(of_option)?;
    writable(&args.out)?;
    let memory = match population.machine().memory {
        Some(memory) => memory,
        None => memory_of_host()?,
    };
    let ledger = Ledger::open(&Launcher::current())?;
    let scratch = ledger.temporary_folder("files of users")?;
    let request = TuneRequest {
        population,
        memory,
        runs: args.runs as usize,
        pairs: args.pairs as usize,
        blocks: args.exhaustive,
        only: args.only.clone(),
        seed: args.seed,
        scratch: scratch.path().to_path_buf(),
    };
    let tuned = tune(&request, &interrupted, &mut |progress| show(progress, out));
    let tuned = signal::unless_interrupted(&interrupted, tuned)?;
    let mut result = json!(tuned);
    write(&args.out, &(result.to_string() + "\n"))?;
    text(&tuned).iter().for_each(|line| out.say(line));
    out.say(&format!("\nThe result is in {}.", args.out.display()));
    result["result"] = "tune".into();
    out.record(&result);
    Ok(())
}

/// The users.
fn population(args: &GroupsTuneArgs) -> Result<Population, Fault> {
    let mut params = Params::default().with("jobs", i64::from(args.jobs)).with("work", args.work);
    let sizes = [("memory", &args.memory), ("read_rate", &args.read_rate)];
    for (name, size) in sizes.into_iter().filter_map(|(name, size)| Some((name, size.as_ref()?))) {
        params = params.with(name, size.as_str());
    }
    if let Some(users) = args.users {
        params = params.with("users", i64::from(users));
    }
    if let Some(mix) = &args.mix {
        return Population::read(&params.with("mix", mix.as_str()));
    }
    let machine = Machine::read(&params)?;
    let Some(file) = &args.commands else {
        let command: Vec<String> = args.command.iter().map(shell_word).collect::<Result<_, _>>()?;
        let users = args.users.map_or(USERS_OF_A_COMMAND, |users| users as usize);
        return Population::of_commands(vec![command.join(" "); users], machine);
    };
    let place = file.display().to_string();
    let text = fs::read_to_string(file)
        .map_err(|e| Fault::usage(format!("cannot read the commands: {e}")).at(place.clone()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Population::of_commands(lines.map(String::from).collect(), machine).map_err(|fault| fault.at(place))
}

fn shell_word(word: &OsString) -> Result<String, Fault> {
    let expected = || Fault::usage("expected a command in UTF-8").at(word.to_string_lossy());
    word.to_str().map(quote).ok_or_else(expected)
}

/// The fault at the option of the parameter's name.
fn of_option(mut fault: Fault) -> Fault {
    match fault.parameter.take() {
        Some(name) => fault.at(format!("--{}", name.replace('_', "-"))),
        None => fault,
    }
}

fn show(progress: &Progress, out: &Out) {
    match progress {
        Progress::Run { number, most, what, ending, best } => {
            let (ended, makespan) = match ending {
                Ending::Done { makespan, .. } => (human(*makespan, "s"), Some(*makespan)),
                Ending::Cut(cap) => (format!("cut off after {}", human(*cap, "s")), None),
                Ending::Killed(group) => (format!("group `{group}` was out of memory"), None),
            };
            let best_so_far = best.map(|best| format!("; {} × so far", digits(best))).unwrap_or_default();
            note(out, &format!("run {number} of {most}: {what}: {ended}{best_so_far}"));
            out.record(&json!({
                "event": "run", "number": number, "most": most, "what": what, "makespan": makespan,
                "ended": ended, "best": best,
            }));
        }
        Progress::Pair { number, most, pair } => {
            let (plain, grouped) = (human(pair.plain, "s"), human(pair.grouped, "s"));
            note(out, &format!("pair {number} of {most}: plain {plain}, grouped {grouped}"));
            out.record(&json!({ "event": "pair", "number": number, "most": most, "pair": pair }));
        }
    }
}

/// Progress for people, beside the result.
fn note(out: &Out, text: &str) {
    if !out.json {
        print_note(text);
    }
}

/// The result for people.
fn text(tuned: &Tuned) -> Vec<String> {
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
    lines.extend(tuned.why.iter().map(|why| format!("Why: {why}.")));
    let cliff = tuned.cliff();
    lines.extend(tuned.beside.iter().map(|beside| self::beside(beside, cliff == Some(beside))));
    lines.extend(parts(&tuned.parts));
    if tuned.is_recommended() {
        lines.extend([String::new(), "The groups:".into()]);
        lines.extend(tuned.groups.iter().map(group));
        lines.extend([String::new(), "To make them:".into()]);
        lines.extend(tuned.commands.iter().map(|line| format!("  {line}")));
    }
    lines
}

fn verdict(tuned: &Tuned) -> String {
    let words = &tuned.words;
    let Some(verdict) = &tuned.verdict else {
        return match &tuned.killed {
            Some(group) if group == "plain" => {
                "No verdict: in a fresh pair plain itself was out of memory. Give more --memory to compare."
                    .into()
            }
            Some(group) => format!(
                "No grouping is recommended: in a fresh pair, group `{group}` of {words} was out of memory."
            ),
            None if tuned.chosen == "plain" => {
                "Plain is as good as every grouping that was run. No groups are recommended.".into()
            }
            None => format!("Best of all runs: {words} ({}).", tuned.chosen),
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
fn beside(beside: &Beside, is_cliff: bool) -> String {
    let what = match (&beside.killed, beside.ratio) {
        (Some(group), _) => format!("group `{group}` was out of memory"),
        (None, Some(ratio)) if beside.cut => format!("at least {} × the time; it was cut off", digits(ratio)),
        (None, Some(ratio)) => format!("{} × the time", digits(ratio)),
        (None, None) => "not run".into(),
    };
    let why = beside.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let cliff = if is_cliff { "The cliff" } else { "A neighbour" };
    format!("{cliff}, in the search: {}: {what}{why}.", beside.words)
}

/// The parts of a user's time, and what explains them.
fn parts(all: &[Parts]) -> Vec<String> {
    let row = |Parts { grouping, counted }: &Parts| {
        let time = |seconds| human(seconds, "s");
        [
            grouping.clone(),
            time(counted.time),
            time(counted.other_waiting()),
            time(counted.run_delay),
            time(counted.cpu_system),
            time(counted.cpu_user),
            counted.refaults.map_or("–".into(), |pages| format!("{pages:.0}")),
            human(counted.read, "B"),
        ]
    };
    let head = ["", "a user takes", "waits", "for a CPU", "CPU, kernel", "CPU, user", "refaults", "read"];
    let rows: Vec<_> = all.iter().map(row).collect();
    std::iter::once(String::new()).chain(table(head, &rows)).collect()
}

fn group(group: &GroupRecord) -> String {
    let users: Vec<String> = group.users.iter().map(usize::to_string).collect();
    let limit = group.memory_limit.map(|limit| format!(", {}", human(Bytes(limit).0 as f64, "B")));
    format!("  {}: users {}{}", group.name, users.join(", "), limit.unwrap_or_default())
}
