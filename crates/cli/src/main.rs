//! The `crosstalk` program: one file a verb, no logic of its own.
#![forbid(unsafe_code)]

mod args;
mod aside;
mod catalogue;
mod conclude;
mod endpoint;
mod exports;
mod links;
mod out;
mod parts;
mod places;
mod progress;
mod readings;
mod shell;
mod signal;
mod verb;
mod ways;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};

/// Says why a command line cannot be read, or the help that was asked for, and ends the program.
fn refuse(error: &clap::Error) -> ! {
    let asked_for_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if error.use_stderr() {
        out::Out::new(asked_for_json).tell_refusal(&error.to_string(), error.exit_code());
    }
    error.exit()
}

fn main() -> ExitCode {
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
    let out = out::Out::new(cli.json);
    let result = match cli.verb {
        Verb::Run(args) => verb::run::main(args, &out),
        Verb::Resume(args) => verb::resume::main(&args, &out),
        Verb::Plan(args) => verb::plan::main(args, &out),
        Verb::List(args) => verb::list::main(&args, &out),
        Verb::Show(args) => verb::show::main(&args, &out),
        Verb::Probe(args) => verb::probe::main(&args, &out),
        Verb::Trace(args) => verb::trace::main(&args, &out),
        Verb::Path(args) => verb::path::main(&args, &out),
        Verb::Exec(args) => verb::exec::main(&args, &out),
        Verb::Guard(args) => verb::guard::main(&args, &out),
        Verb::Report(args) => verb::report::main(&args, &out),
        Verb::Doctor(args) => verb::doctor::main(&args, &out),
        Verb::Clean => verb::clean::main(&out),
        Verb::Completions(args) => verb::completions::main(&args),
        Verb::Man(args) => verb::man::main(&args, &out),
        Verb::BoincProject(args) => verb::boinc::project(&args, &out),
        Verb::BoincApp(_) => verb::boinc::app(),
        Verb::BoincCores(args) => verb::boinc::cores(&args),
        Verb::Agent => verb::agent::main(),
        Verb::End => verb::agent::end(),
        Verb::Hold(args) => verb::agent::hold(args),
        Verb::Reap(args) => verb::agent::reap(args),
    };
    let code = result.and_then(|code| out::lost().map_or(Ok(code), Err)).unwrap_or_else(|fault| {
        out.fault(&fault);
        ExitCode::from(fault.kind.exit_code())
    });
    out::finish();
    code
}
