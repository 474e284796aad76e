//! `crosstalk groups tune`: how to group users.

use std::ffi::OsString;
use std::path::Path;

use crosstalk_core::Fault;
use crosstalk_core::units::{Seconds, digits, human};
use crosstalk_core::value::Params;
use crosstalk_host::{Launcher, Ledger, regular};
use crosstalk_users::mix::LONGEST;
use crosstalk_users::population::{Machine, Population};
use crosstalk_users::tune::{
    ComparisonRequest, GroupingRecord, PartialResult, Progress, RunRecord, TuneRequest, in_words,
    memory_of_host, quote, tune, tune_compare,
};
use serde_json::json;

use super::tune_text::text;
use crate::args::GroupsTuneArgs;
use crate::out::{Out, print_note};
use crate::result_file::{next_free, writable, write};
use crate::signal;

/// The users who run a command, if no number is given.
const USERS_OF_A_COMMAND: usize = 2;

/// The longest file of groupings, in bytes.
const LONGEST_GROUPINGS: u64 = 64 << 20;

/// Runs `crosstalk groups tune`.
pub fn main(args: &GroupsTuneArgs, out: &Out) -> Result<(), Fault> {
    let interrupted = signal::interrupted()?;
    let population = population(args).map_err(of_option)?;
    let file = args.out.clone().map_or_else(|| next_free("tune", "json"), Ok)?;
    writable(&file)?;
    let memory = match population.machine().memory {
        Some(memory) => memory,
        None => memory_of_host()?,
    };
    let deadline = deadline(&args.deadline)?;
    let ledger = Ledger::open(&Launcher::current())?;
    let scratch = ledger.temporary_folder("files of users")?;
    let request = TuneRequest {
        population,
        memory,
        runs: args.runs as usize,
        pairs: args.pairs as usize,
        deadline,
        blocks: args.exhaustive.map(|blocks| blocks as usize),
        drop_caches: args.drop_caches,
        seed: args.seed,
        scratch: scratch.path().to_path_buf(),
    };
    let mut result = match (&args.groupings, request.blocks) {
        (Some(file), Some(blocks)) => {
            let comparison = ComparisonRequest { groupings: groupings(file)?, blocks };
            let ended = &mut |number, most, run: &RunRecord| show_compared(number, most, run, out);
            json!(signal::unless_interrupted(
                &interrupted,
                tune_compare(&request, &comparison, &interrupted, ended)
            )?)
        }
        _ => {
            let mut partial = PartialResult::new(&request);
            let tuned = tune(&request, &interrupted, &mut |progress| {
                partial.add(progress);
                show(progress, out);
            });
            let tuned = signal::unless_interrupted(&interrupted, tuned);
            let tuned = tuned.map_err(|fault| kept(partial, fault, &file, out))?;
            text(&tuned).iter().for_each(|line| out.say(line));
            json!(tuned)
        }
    };
    write(&file, &(result.to_string() + "\n"))?;
    out.say(&format!("\nThe result is in {}.", file.display()));
    result["result"] = "tune".into();
    out.record(&result);
    Ok(())
}

/// Keeps what was run before `fault` ended it. Returns the fault.
fn kept(partial: PartialResult, fault: Fault, file: &Path, out: &Out) -> Fault {
    let Some(partial) = partial.ended(fault.message.clone()) else { return fault };
    match write(file, &(json!(partial).to_string() + "\n")) {
        Ok(()) => note(out, &format!("what was run until then is in {}, without a verdict", file.display())),
        Err(unwritten) => note(out, &unwritten.sentence()),
    }
    fault
}

fn deadline(text: &str) -> Result<Seconds, Fault> {
    let seconds = text.parse::<Seconds>().map_err(|fault| fault.at("--deadline"))?;
    if seconds.0 > 0.0 {
        return Ok(seconds);
    }
    Err(Fault::usage(format!("expected a time above zero, found `{text}`")).at("--deadline"))
}

/// Groupings, as a result lists them.
fn groupings(file: &Path) -> Result<Vec<GroupingRecord>, Fault> {
    let place = file.display().to_string();
    let text = regular::text(file, LONGEST_GROUPINGS)
        .map_err(|e| Fault::usage(format!("cannot read the groupings: {e}")).at(place.clone()))?;
    serde_json::from_str(&text)
        .map_err(|e| Fault::usage(format!("expected `groupings` of a result: {e}")).at(place))
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
        if mix == "reread" {
            let message =
                "expected a mix that lists what users do, found `reread`, whose parameters a study sets";
            return Err(Fault::usage(message).at("--mix").remedy(
                "use readers, streaming or uneven, or a mix file with lines such as `4 users reread 24M`",
            ));
        }
        return Population::read(&params.with("mix", mix.as_str()));
    }
    let machine = Machine::read(&params)?;
    let Some(file) = &args.commands else {
        let command: Vec<String> = args.command.iter().map(shell_word).collect::<Result<_, _>>()?;
        let users = args.users.map_or(USERS_OF_A_COMMAND, |users| users as usize);
        return Population::of_commands(vec![command.join(" "); users], machine);
    };
    let place = file.display().to_string();
    let text = regular::text(file, LONGEST)
        .map_err(|e| Fault::usage(format!("cannot read the commands: {e}")).at(place.clone()))?;
    Population::of_commands(commands(&text, &place)?, machine).map_err(|fault| fault.at(place))
}

/// The commands of a file, one a line; `place` is its name.
fn commands(text: &str, place: &str) -> Result<Vec<String>, Fault> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let commands = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let checked = |(number, line): (usize, &str)| match line.contains('\0') {
        false => Ok(line.to_string()),
        true => Err(Fault::usage("expected a command, found a zero byte")
            .at(format!("{place}:{number}"))
            .remedy("write the line again")),
    };
    commands.map(checked).collect()
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
        Progress::Plan { runs, seconds, deadline } => {
            let (about, most) = (in_words(*seconds), in_words(deadline.0));
            note(out, &format!("plan: at most {runs} runs, about {about} together; --deadline {most}"));
            out.record(&json!({ "event": "plan", "runs": runs, "seconds": seconds, "deadline": deadline }));
        }
        Progress::Run { number, most, what, run, best } => {
            let ended = ending(run);
            let best_so_far = best.map(|best| format!("; {} × so far", digits(best))).unwrap_or_default();
            note(out, &format!("run {number} of {most}: {what}: {ended}{best_so_far}"));
            out.record(&json!({
                "event": "run", "number": number, "most": most, "what": what, "makespan": run.makespan,
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

fn show_compared(number: usize, most: usize, run: &RunRecord, out: &Out) {
    note(out, &format!("run {number} of {most}: {}: {}", run.grouping, ending(run)));
    out.record(&json!({ "event": "run", "number": number, "most": most, "run": run }));
}

/// How a run ended.
fn ending(run: &RunRecord) -> String {
    match (run.makespan, run.cut, &run.killed) {
        (Some(makespan), ..) => human(makespan, "s"),
        (None, Some(cap), _) => format!("cut off after {}", human(cap, "s")),
        (None, None, Some(group)) => format!("group `{group}` was out of memory"),
        (None, None, None) => "no time".into(),
    }
}

/// Progress for people, beside the result.
fn note(out: &Out, text: &str) {
    if !out.json {
        print_note(text);
    }
}
