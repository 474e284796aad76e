//! `crosstalk man DIR`: manual pages, made from the command line itself.

use std::process::ExitCode;

use crosstalk_core::Fault;
use serde_json::json;

use super::completions::shown;
use crate::args::ManArgs;
use crate::out::Out;

pub fn main(args: &ManArgs, out: &Out) -> Result<ExitCode, Fault> {
    let cannot = |e: std::io::Error| {
        Fault::environment(format!("cannot write pages: {e}"))
            .at(args.dir.display().to_string())
            .remedy("name a directory that you may write to")
    };
    std::fs::create_dir_all(&args.dir).map_err(cannot)?;
    clap_mangen::generate_to(shown(), &args.dir).map_err(cannot)?;
    out.say(&format!(
        "written to {}; read one with: man -l {}/crosstalk.1",
        args.dir.display(),
        args.dir.display()
    ));
    out.tell(&json!({ "result": "man", "dir": args.dir }));
    Ok(ExitCode::SUCCESS)
}
