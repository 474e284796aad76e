//! The `crosstalk` program: one file for each verb, no logic of its own.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod args;
mod catalogue;
mod conclude;
mod datapaths;
mod duration;
mod endpoint;
mod exports;
mod host_speed;
mod links;
mod load;
mod out;
mod parts;
mod perform;
mod picture;
mod prepare;
mod progress;
mod readings;
mod reference;
mod replacements;
mod resolved;
mod result_file;
mod shell;
mod signal;
mod streams;
mod verb;
mod writer;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};

/// Prints why a command line cannot be read, or the requested help. Returns the exit code.
fn refuse(error: &clap::Error) -> ExitCode {
    let is_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    let (out, prose) = (out::Out::new(is_json), error.render());
    if error.use_stderr() {
        let prose = prose.to_string() + &own_program(error).unwrap_or_default();
        out.print_refusal(&prose, error.exit_code());
        out::print_note(prose.trim_end());
        return ExitCode::from(2);
    }
    // Help is for people, also under --json.
    let out = out::Out::new(false);
    out.print_raw(&if out.colour() { prose.ansi().to_string() } else { prose.to_string() });
    streams::unread_output_fault().map_or(ExitCode::SUCCESS, |fault| report(&out, &fault))
}

/// The hint for a program of the user's among the arguments of `run` or `groups tune`: the `--` is missing.
fn own_program(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let verb = words.iter().find(|word| !word.starts_with('-'))?;
    let left_over = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => {
            error.kind() == ErrorKind::UnknownArgument && !word.starts_with('-')
        }
        _ => false,
    };
    let verb = match verb.as_str() {
        "run" => "run",
        "groups" if words.iter().any(|word| word == "tune") => "groups tune",
        _ => return None,
    };
    (left_over && !words.contains(&"--".into()))
        .then(|| format!("\nYour own program goes after `--`: crosstalk {verb} -- ./my-job its arguments\n"))
}

/// Prints a fault. Returns its exit code.
fn report(out: &out::Out, fault: &crosstalk_core::Fault) -> ExitCode {
    out.fault(fault);
    ExitCode::from(fault.kind.exit_code())
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let out = out::Out::new(cli.json);
    if let Err(fault) = signal::fail_at_file_limit() {
        return report(&out, &fault);
    }
    // `exec` returns its command's exit code, also if a text of ours could not be written.
    let is_exec = matches!(cli.verb, Verb::Exec(_));
    let result = match cli.verb {
        Verb::Run(args) => verb::run::main(args, &out),
        Verb::Resume(args) => verb::resume::main(args, &out),
        Verb::Plan(args) => verb::plan::main(args, &out),
        Verb::List(args) => verb::list::main(&args, &out),
        Verb::Show(args) => verb::show::main(&args, &out),
        Verb::Data(args) => verb::data::main(&args, &out),
        Verb::Probe(args) => verb::probe::main(&args, &out),
        Verb::Trace(args) => verb::trace::main(&args, &out),
        Verb::Path(args) => verb::path::main(&args, &out),
        Verb::Replay(args) => verb::replay::main(&args, &out),
        Verb::Exec(args) => verb::exec::main(&args, &out),
        Verb::Groups(args) => verb::groups::main(args, &out),
        Verb::Guard(args) => verb::guard::main(&args, &out),
        Verb::Report(args) => verb::report::main(&args, &out),
        Verb::Doctor(args) => verb::doctor::main(&args, &out),
        Verb::Clean => verb::clean::main(&out),
        Verb::Completions(args) => verb::completions::main(&args),
        Verb::Man(args) => verb::man::main(&args, &out),
        Verb::Docs(args) => verb::docs::main(&args, &out),
        Verb::BoincProject(args) => verb::boinc::project(&args, &out),
        Verb::BoincApp(_) => verb::boinc::app(),
        Verb::UsersDriver => verb::users::run_driver(),
        Verb::UserJob(args) => verb::user_job::main(&args, &out),
        Verb::Agent(args) => verb::agent::main(&args),
        Verb::Endpoint => verb::agent::run_endpoint(),
        Verb::Hold(args) => verb::agent::run_holder(args),
        Verb::Place => verb::groups::place(),
        Verb::Reap(args) => verb::agent::run_reaper(args),
    };
    let all_written = || streams::unread_output_fault().filter(|_| !is_exec).map_or(Ok(()), Err);
    let code =
        result.and_then(|code| all_written().map(|()| code)).unwrap_or_else(|fault| report(&out, &fault));
    streams::wait_for_readers();
    code
}
