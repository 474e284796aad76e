//! `crosstalk report DIR`.

use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::regular;
use crosstalk_lab::rundir::RunDir;
use crosstalk_report::RunRecord;
use crosstalk_study::findings::Findings;

use crate::args::ReportArgs;
use crate::conclude::{Outputs, Resolved, conclude, revisions};
use crate::exports::{may_write, unwritable};
use crate::out::Out;
use crate::signal;

const PAGE: &str = "--page";

pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    args.page.iter().try_for_each(|file| may_write(PAGE, file))?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    let outputs = Outputs { gate: args.gate, quiet: false, export: &args.export };
    let (code, findings) = conclude(&dir, resolved, &outputs, &interrupted, out)?;
    args.page.iter().try_for_each(|file| write_page(file, &dir, &findings))?;
    Ok(code)
}

/// The findings as a page to commit.
fn write_page(file: &Path, dir: &RunDir, findings: &Findings) -> Result<(), Fault> {
    let bundled = crosstalk_study::bundled_study(&findings.study).is_some();
    let quick = if findings.run.quick { " --quick" } else { "" };
    // Where the run was kept is nobody else's: a bundled study has a name.
    let command = match bundled {
        true => format!("crosstalk run {}{quick}", findings.study),
        false => findings.headline.command.clone(),
    };
    let page = crosstalk_report::findings_page(
        findings,
        &RunRecord { revisions: &revisions(dir)?, command: &command },
    );
    regular::write(file, &page).map_err(|e| unwritable(PAGE, file, &e))
}
