//! `crosstalk completions SHELL`, made from the command line itself.

use std::process::ExitCode;

use clap::{Command, CommandFactory};
use crosstalk_core::Fault;

use crate::args::{Cli, CompletionsArgs};
use crate::out::Out;

pub fn main(args: &CompletionsArgs) -> Result<ExitCode, Fault> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "crosstalk", &mut script);
    Out::new(false).paint(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// The commands that people type: without the program's own.
pub fn shown() -> Command {
    let whole = Cli::command();
    let about = whole.get_about().cloned().unwrap_or_default();
    let after = whole.get_after_help().cloned().unwrap_or_default();
    let mut bare =
        Command::new("crosstalk").version(env!("CARGO_PKG_VERSION")).about(about).after_help(after);
    bare = bare.args(whole.get_arguments().cloned());
    bare.subcommands(whole.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned())
}
