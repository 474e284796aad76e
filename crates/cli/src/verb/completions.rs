//! `crosstalk completions SHELL`: a script, generated from the definition of the command line and the catalogues.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use crosstalk_apps::dataset::Catalogue;
use crosstalk_core::Fault;
use crosstalk_probe::collective::Function;

use super::show;
use crate::args::{Cli, CompletionsArgs};
use crate::out::Out;
use crate::{catalogue, parts};

/// Runs `crosstalk completions`.
pub fn main(args: &CompletionsArgs) -> Result<ExitCode, Fault> {
    let names = Names::new()?;
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut with_names(visible_commands(), &names),
        "crosstalk",
        &mut script,
    );
    let script = String::from_utf8_lossy(&script);
    Out::new(false).print_raw(&match args.shell {
        Shell::Zsh => with_files(&script, &names.of(&["studies"])),
        Shell::Fish => script.into_owned() + &fish_lines(&names),
        _ => script.into_owned(),
    });
    Ok(ExitCode::SUCCESS)
}

/// The command line without the hidden verbs.
pub fn visible_commands() -> Command {
    let whole = Cli::command();
    let about = whole.get_about().cloned().unwrap_or_default();
    let after = whole.get_after_help().cloned().unwrap_or_default();
    let mut bare =
        Command::new("crosstalk").version(env!("CARGO_PKG_VERSION")).about(about).after_help(after);
    bare = bare.args(whole.get_arguments().cloned());
    bare.subcommands(whole.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned())
}

/// Catalogues with the hops of a path.
const HOPS: [&str; 2] = ["interconnects", "components"];

/// The catalogue of data sets, which is one file.
const DATA: &str = "datasets";

/// The names in the catalogues, each with its folder.
struct Names(Vec<(&'static str, String)>);

impl Names {
    fn new() -> Result<Self, Fault> {
        let mut names = show::names(&catalogue::catalogues(&[])?, &parts::registry());
        names.extend(Catalogue::bundled()?.all().map(|set| (DATA, set.name.clone())));
        Ok(Names(names))
    }

    /// The names in these folders, each once.
    fn of(&self, folders: &[&str]) -> BTreeSet<&str> {
        self.0.iter().filter(|(of, _)| folders.contains(of)).map(|(_, name)| name.as_str()).collect()
    }
}

/// The command line with names of the catalogues as possible values. They are only suggested: a file, or a name in a
/// catalogue of the user, is accepted too.
fn with_names(command: Command, names: &Names) -> Command {
    // Clap needs static words. Leaking them is harmless: the program ends when the script is printed.
    let parser = |words: BTreeSet<&str>| {
        PossibleValuesParser::new(words.into_iter().map(|word| &*word.to_string().leak()))
    };
    let studies = parser(names.of(&["studies"]));
    let fabrics = parser(names.of(&["fabrics"]).into_iter().chain(["none"]).collect());
    let study = |verb: Command| {
        let verb = verb.mut_arg("study", |arg| arg.value_parser(studies.clone()));
        verb.mut_arg("engine", |arg| arg.value_parser(["native", "spark"]))
    };
    let wired = |probe: Command| {
        let with = |kind: Command| kind.mut_arg("fabric", |arg| arg.value_parser(fabrics.clone()));
        ["latency", "load", "bandwidth", "collective"]
            .into_iter()
            .fold(probe, |probe, kind| probe.mut_subcommand(kind, with))
    };
    let emulated = |verb: Command| {
        let verb = verb.mut_arg("system", |arg| arg.value_parser(parser(names.of(&["systems"]))));
        let libraries = parser(names.of(&["mpi"]).into_iter().chain(["none"]).collect());
        verb.mut_arg("mpi", |arg| arg.value_parser(libraries))
    };
    let functions = |verb: Command| {
        let words = Function::ALL.map(Function::name);
        emulated(verb.mut_arg("function", |arg| arg.value_parser(words)))
    };
    let offer = |verb: Command, name: &'static str, folders: &[&str]| {
        verb.mut_arg(name, |arg| arg.value_parser(parser(names.of(folders))))
    };
    command
        .mut_subcommand("run", study)
        .mut_subcommand("plan", study)
        .mut_subcommand("show", |verb| offer(verb, "name", &show::CATALOGUE_FOLDERS))
        .mut_subcommand("path", |verb| offer(verb, "path", &HOPS))
        .mut_subcommand("data", |verb| verb.mut_subcommand("get", |get| offer(get, "name", &[DATA])))
        .mut_subcommand("probe", |probe| wired(probe).mut_subcommand("collective", functions))
        .mut_subcommand("replay", emulated)
}

/// Lets zsh suggest files beside the studies' names.
fn with_files(script: &str, studies: &BTreeSet<&str>) -> String {
    let words = Vec::from_iter(studies.iter().copied()).join(" ");
    let either = format!(":{{_alternative \"studies:study:({words})\" \"files:file:_files\"}}'");
    script.replace(&format!(":({words})'"), &either)
}

/// Lines for fish: clap's generator leaves out positional arguments.
fn fish_lines(names: &Names) -> String {
    let line = |(verb, folders): (&str, &[&str])| {
        let words = Vec::from_iter(names.of(folders)).join(" ");
        format!("complete -c crosstalk -n \"__fish_crosstalk_using_subcommand {verb}\" -a \"{words}\"\n")
    };
    let studies: &[&str] = &["studies"];
    let verbs = [
        ("run", studies),
        ("plan", studies),
        ("show", &show::CATALOGUE_FOLDERS),
        ("path", &HOPS),
        ("data; and __fish_seen_subcommand_from get", &[DATA]),
    ];
    verbs.into_iter().map(line).collect()
}
