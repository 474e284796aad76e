//! The study behind `crosstalk run --nodes N --vary F=A,B -- CMD`.

use crate::catalogue::NO_FABRIC;
use crate::check::check;
use crate::file::{
    ColumnSpec, Compare, DrawAs, Experiment, Factor, FigureSpec, Headline, Names, STUDY_SCHEMA, Study,
    TableSpec, WorkSpec,
};
use crate::key_lines::KeyLines;
use crate::part::PARTS_ADD_UP;
use crate::predicate::{AsWritten, EquivalenceMargin};
use crate::substitute::literal;
use crate::words;
use crosstalk_core::Fault;
use crosstalk_core::name::nearest;
use crosstalk_core::quote::shell_word;
use crosstalk_core::value::{Levels, Params, Value};
use std::collections::BTreeMap;

/// The name of the command's experiment and work.
pub const EXPERIMENT: &str = "command";

/// The deciding metric of a command.
pub const RUN_TIME: &str = "run_time";

/// The default margin within which two levels of a command are equivalent.
pub const MARGIN: &str = "2 %";

/// A factor that the command line varies, and its levels.
pub type VariedFactor = (String, Vec<Value>);

/// The prefix of a factor that is an environment variable of the command.
const VARIABLE: &str = "env.";

/// The factor whose levels are the fabrics of the links.
const FABRIC: &str = "fabric";

/// The prefix of the variables that Crosstalk sets for the command.
const RESERVED: &str = "CROSSTALK_";

/// The study that runs `argv` on `nodes` nodes, once for each combination of `vary`'s levels in every block.
///
/// The factor `fabric` shapes the links. A factor `env.NAME` is the command's environment variable `NAME`, and the factor
/// `NAME` of the study. The first factor's levels are compared with its first level, at every combination of the others.
///
/// # Errors
/// A usage fault about `--nodes`, `--vary` or a missing command.
pub fn command_study(nodes: usize, vary: &[VariedFactor], argv: &[String]) -> Result<Study, Fault> {
    if nodes == 0 {
        return Err(Fault::usage("expected at least one node, found 0").at("--nodes"));
    }
    if argv.is_empty() {
        return Err(Fault::usage("no command is given").remedy("write it after --, as in -- ./my-job"));
    }
    let mut factors = BTreeMap::new();
    for (name, levels) in vary {
        check_factor(name, levels)?;
        if factors.insert(factor(name).to_string(), Factor::Listed(levels.clone())).is_some() {
            return Err(Fault::usage("the factor is varied twice").at(format!("--vary {name}")));
        }
    }
    let experiment = Experiment {
        title: command_line(argv),
        work: BTreeMap::from([(EXPERIMENT.to_string(), work(nodes, vary, argv))]),
        conditions: BTreeMap::from([("fabric".to_string(), fabric(vary))]),
        observe: Vec::new(),
        factors,
        exclude: Vec::new(),
        compare: vary.first().and_then(|(name, levels)| {
            let base = levels.first()?.clone();
            let margin = Some(MARGIN.parse().expect("a margin"));
            Some(Compare { factor: factor(name).into(), base, metric: Some(RUN_TIME.into()), margin })
        }),
        blocks: None,
        remark: Vec::new(),
    };
    let study = Study {
        schema: STUDY_SCHEMA.into(),
        name: display_name(argv).into(),
        title: command_line(argv),
        about: String::new(),
        cite: String::new(),
        looks: vec![12, 24, 48],
        seed: 1,
        warmup: 0,
        headline: headline(vary, argv),
        quick: None,
        engine: BTreeMap::new(),
        experiment: BTreeMap::from([(EXPERIMENT.to_string(), experiment)]),
        claim: BTreeMap::new(),
        figure: figures(vary),
        table: BTreeMap::from([("time".to_string(), times(vary))]),
        remark: Vec::new(),
        key_lines: KeyLines::default(),
    };
    check(&study).map_err(|mut fault| {
        // Keys of a study without a file mean nothing to the reader.
        fault.place = Some("--vary".into());
        fault
    })?;
    Ok(study)
}

/// The study with another equivalence margin than [`MARGIN`].
///
/// # Errors
/// A usage fault where `margin` is none, or nothing is compared.
pub fn with_margin(mut study: Study, margin: &str) -> Result<Study, Fault> {
    let margin: AsWritten<EquivalenceMargin> = margin.parse()?;
    let mut compared =
        study.experiment.values_mut().filter_map(|experiment| experiment.compare.as_mut()).peekable();
    if compared.peek().is_none() {
        return Err(Fault::usage("nothing is compared").remedy("say what is varied with --vary"));
    }
    compared.for_each(|compare| compare.margin = Some(margin.clone()));
    Ok(study)
}

/// Refuses a factor that cannot be varied. Environment variables need their prefix: else a typing mistake would run for
/// hours and compare nothing.
fn check_factor(name: &str, levels: &[Value]) -> Result<(), Fault> {
    let fault = |message: &str| Err(Fault::usage(message).at(format!("--vary {name}")));
    if let Some(variable) = name.strip_prefix(VARIABLE) {
        let letters = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !letters || !variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return fault("a variable's name has letters, digits and _, and begins with a letter or _");
        }
        if variable.starts_with(RESERVED) || variable == FABRIC {
            return fault("this name is reserved for Crosstalk: let the command take another");
        }
        return Ok(());
    }
    match name {
        FABRIC => Ok(()),
        "system" | "boards" | "uplink" | "memory" | "disk" | "mpi" | "ranks" | "scale" => {
            fault("commands run in real time, where this cannot be varied: vary `fabric`")
        }
        "nodes" => fault("how many nodes there are cannot be varied: run it once for each --nodes"),
        _ => {
            let fault = Fault::usage(format!("unknown factor `{name}`")).at(format!("--vary {name}"));
            let (nearest, levels) = (nearest(name, [FABRIC, "env"]), join(levels));
            let variable = name.strip_prefix("env").unwrap_or(name);
            let variable: String =
                variable.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let variable = if variable.is_empty() { "NAME" } else { &variable };
            let asked = format!("--vary {VARIABLE}{variable}={levels}");
            Err(fault.remedy(match nearest {
                Some(FABRIC) => format!("did you mean `{FABRIC}`? (an environment variable is {asked})"),
                _ => format!("vary `{FABRIC}`, or an environment variable of your program: {asked}"),
            }))
        }
    }
}

/// The command as a line for a shell.
fn command_line(argv: &[String]) -> String {
    argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Levels as a user types them.
fn join(levels: &[Value]) -> String {
    levels.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// A factor's name in the study.
fn factor(name: &str) -> &str {
    name.strip_prefix(VARIABLE).unwrap_or(name)
}

fn work(nodes: usize, vary: &[VariedFactor], argv: &[String]) -> WorkSpec {
    let argv: Vec<Value> = argv.iter().map(|word| literal(word)).collect();
    let params = Params::default().with("argv", Value::List(argv)).with("nodes", nodes as i64);
    let env: Vec<Value> = vary
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(VARIABLE))
        .map(|variable| Value::List(vec![variable.into(), format!("${variable}").into()]))
        .collect();
    let params = if env.is_empty() { params } else { params.with("env", Value::List(env)) };
    WorkSpec { kind: "command".into(), start: None, params }
}

fn fabric(vary: &[VariedFactor]) -> Value {
    if vary.iter().any(|(name, _)| name == FABRIC) { "$fabric".into() } else { NO_FABRIC.into() }
}

/// The headline: the first factor's second level against its first, at the first levels of the other factors. The subject
/// names those.
fn headline(vary: &[VariedFactor], argv: &[String]) -> Option<Headline> {
    let (_, levels) = vary.first()?;
    let at = first_levels(&vary[1..]);
    let subject = format!("{}{}", display_name(argv), words::at_levels(&at));
    let level = levels.get(1)?.clone();
    Some(Headline { experiment: EXPERIMENT.into(), level, at, base: String::new(), subject })
}

/// The first level of each factor.
fn first_levels(vary: &[VariedFactor]) -> Levels {
    vary.iter().filter_map(|(name, levels)| Some((factor(name).into(), levels.first()?.clone()))).collect()
}

/// The figures: run times and their parts. The first factor makes the series; the second, if any, is across.
fn figures(vary: &[VariedFactor]) -> BTreeMap<String, FigureSpec> {
    let Some((first, _)) = vary.first() else { return BTreeMap::new() };
    let across = vary.get(1).map_or(first, |(second, _)| second);
    let rest = first_levels(vary.get(2..).unwrap_or_default());
    let here =
        if rest.is_empty() { String::new() } else { format!("{}: ", words::at_levels(&rest).trim_start()) };
    let here = here.replacen("at ", "At ", 1);
    let run_time = FigureSpec {
        title: "Run time".into(),
        caption: format!(
            "{here}Wall time of the command on node 0. When it ends there, it is ended on the other nodes."
        ),
        order: 1,
        experiment: EXPERIMENT.into(),
        kind: DrawAs::Bars,
        metric: RUN_TIME.into(),
        also: Vec::new(),
        x: factor(across).into(),
        series: Names::One(factor(first).into()),
        at: rest,
        log: Vec::new(),
        relative_to: None,
        published: None,
        published_as: BTreeMap::new(),
        marks: BTreeMap::new(),
    };
    let split = FigureSpec {
        title: "Where the run time goes".into(),
        caption: format!(
            "{here}Waiting is the rest of the run time: for the network, other nodes, disks or a timer. {AT_LEAST} The table also shows what ran in parallel."
        ),
        order: 2,
        kind: DrawAs::Split,
        metric: "time".into(),
        ..run_time.clone()
    };
    BTreeMap::from([("run-time".to_string(), run_time), ("split".to_string(), split)])
}

/// How precisely the time of waiting for a processor is known.
const AT_LEAST: &str = "Waiting for a processor is a lower bound: threads are sampled about 50 times a second. A \
    thread's wait after its last sample, or between two samples, may count as waiting.";

/// The table: run time, its parts, and what ran in parallel on node 0, a row for each combination of levels.
fn times(vary: &[VariedFactor]) -> TableSpec {
    let column = |title: &str, metric: &str| ColumnSpec {
        title: title.into(),
        metric: Some(metric.into()),
        published: None,
        relative_to: None,
    };
    TableSpec {
        title: "The run time and its parts".into(),
        caption: format!(
            "At node 0: Hodges–Lehmann estimates over the runs. Computing, waiting for a processor and waiting are the parts of the run time. {PARTS_ADD_UP} {AT_LEAST} What ran in parallel is further processor time."
        ),
        order: 1,
        experiment: EXPERIMENT.into(),
        metric: String::new(),
        rows: Names::Several(vary.iter().map(|(name, _)| factor(name).into()).collect()),
        columns: String::new(),
        column: vec![
            column("run time", RUN_TIME),
            column("computing", "time_compute[node=0]"),
            column("waiting for a processor", "time_queue[node=0]"),
            column("waiting", "time_wait[node=0]"),
            column("ran in parallel", "parallel_cpu_time[node=0]"),
        ],
        at: Levels::new(),
        relative_to: None,
        published: None,
        published_as: BTreeMap::new(),
    }
}

/// Programs that run another program: a reader knows the command by the latter's name.
const RUNNERS: [&str; 14] = [
    "sh", "bash", "dash", "zsh", "python", "perl", "ruby", "node", "java", "env", "nice", "time", "timeout",
    "taskset",
];

/// The command's name: the script of `python3 job.py`, the first program of `sh -c '…'`, else its program; without
/// folders.
fn display_name(argv: &[String]) -> &str {
    let program = stem(&argv[0]);
    let runner = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !RUNNERS.contains(&runner) {
        return program;
    }
    let option = argv.iter().position(|word| word == "-c");
    let script = match option {
        Some(at) if runner.ends_with("sh") => {
            argv.get(at + 1).and_then(|script| script.split_whitespace().find(|word| is_command(word)))
        }
        Some(_) if runner == "python" => None,
        _ => argv[1..].iter().map(String::as_str).find(|word| is_name(word)),
    };
    script.filter(|word| is_name(word)).map_or(program, stem)
}

/// Reserved words of the shell.
const GRAMMAR: [&str; 12] =
    ["if", "then", "else", "elif", "fi", "for", "in", "while", "until", "do", "done", "case"];

/// Whether a word of a script is neither an assignment nor a reserved word.
fn is_command(word: &str) -> bool {
    !word.contains('=') && !GRAMMAR.contains(&word.trim_end_matches(';'))
}

/// Whether a word is neither an option, an assignment, a number, nor a script.
fn is_name(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_alphanumeric() || "./_-+".contains(c));
    plain && word.starts_with(|c: char| c.is_alphabetic() || c == '.' || c == '/')
}

/// A program's name without its folders.
fn stem(program: &str) -> &str {
    program.rsplit('/').find(|part| !part.is_empty()).unwrap_or("command")
}
