//! `crosstalk report DIR`.

use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::regular;
use crosstalk_lab::rundir::RunDir;
use crosstalk_report::RunRecord;
use crosstalk_study::findings::Findings;

use crate::args::ReportArgs;
use crate::conclude::{Outputs, conclude};
use crate::exports::{check_writable, unwritable_fault};
use crate::out::Out;
use crate::resolved::{Resolved, revisions};
use crate::signal;

const PAGE: &str = "--page";

/// Runs `crosstalk report`.
pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    args.page.iter().try_for_each(|file| check_writable(PAGE, file))?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    let outputs = Outputs { gate: args.gate, quiet: args.quiet, export: &args.export };
    let (code, findings) = conclude(&dir, resolved, &outputs, &interrupted, out)?;
    args.page.iter().try_for_each(|file| write_page(file, &dir, &findings))?;
    Ok(code)
}

/// Writes the findings as a page that can be committed.
fn write_page(file: &Path, dir: &RunDir, findings: &Findings) -> Result<(), Fault> {
    let bundled = crosstalk_study::bundled_study(&findings.study).is_some();
    let quick = if findings.run.quick { " --quick" } else { "" };
    // A bundled study is known by name everywhere; the run's directory is only known here.
    let command = match bundled {
        true => format!("crosstalk run {}{quick}", findings.study),
        false => findings.headline.command.clone(),
    };
    let page = crosstalk_report::findings_page(
        findings,
        &RunRecord { revisions: &revisions(dir)?, command: &command },
    );
    regular::replace_content(file, &page).map_err(|e| unwritable_fault(PAGE, file, &e))
}
