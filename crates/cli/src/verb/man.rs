//! `crosstalk man DIR`: manual pages, generated from the definition of the command line.

use std::process::ExitCode;

use crosstalk_core::Fault;
use serde_json::json;

use super::completions::visible_commands;
use crate::args::ManArgs;
use crate::out::Out;

/// Runs `crosstalk man`.
pub fn main(args: &ManArgs, out: &Out) -> Result<ExitCode, Fault> {
    let cannot = |e: std::io::Error| {
        Fault::environment(format!("cannot write pages: {e}"))
            .at(args.dir.display().to_string())
            .remedy("name a directory that you may write to")
    };
    std::fs::create_dir_all(&args.dir).map_err(cannot)?;
    clap_mangen::generate_to(visible_commands(), &args.dir).map_err(cannot)?;
    out.say(&format!(
        "written to {}; read one with: man -l {}/crosstalk.1",
        args.dir.display(),
        args.dir.display()
    ));
    out.record(&json!({ "result": "man", "dir": args.dir }));
    Ok(ExitCode::SUCCESS)
}
