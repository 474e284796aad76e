//! `crosstalk report DIR`.

use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::{Fault, quoted};
use crosstalk_host::regular;
use crosstalk_lab::rundir::RunDir;
use crosstalk_report::{Beside, RunRecord};
use crosstalk_study::file::{Claim, Study};
use crosstalk_study::findings::Findings;

use crate::args::ReportArgs;
use crate::conclude::{Outputs, conclude, findings_of};
use crate::exports::{check_writable, unwritable_fault};
use crate::out::Out;
use crate::resolved::{Resolved, first_command, revisions};
use crate::signal;

const PAGE: &str = "--page";
const BESIDE: &str = "--beside";

/// Runs `crosstalk report`.
pub fn main(args: &ReportArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    args.export.check()?;
    args.page.iter().try_for_each(|file| check_writable(PAGE, file))?;
    let beside = args.beside.iter().map(|text| named_run(text)).collect::<Result<Vec<_>, _>>()?;
    let dir = RunDir::open(&args.dir)?;
    let resolved = Resolved::load(&dir)?;
    let others = beside.iter().map(|other| Ok((other.name.as_str(), other.record(&resolved.study)?)));
    let others = others.collect::<Result<Vec<_>, Fault>>()?;
    let outputs = Outputs { gate: args.gate, quiet: args.quiet, export: &args.export };
    let (code, findings) = conclude(&dir, resolved, &outputs, &interrupted, out)?;
    let Some(file) = &args.page else { return Ok(code) };
    write_page(file, &Record::of(&dir, findings)?, &others)?;
    Ok(code)
}

/// A run that stands on another one's page, under its name.
struct NamedRun {
    name: String,
    dir: RunDir,
}

impl NamedRun {
    /// What the page says of it; a usage fault where it is a run of another study, or asks otherwise.
    fn record(&self, study: &Study) -> Result<Record, Fault> {
        let resolved = Resolved::load(&self.dir)?;
        let refused = |what: String| {
            Fault::usage(what)
                .at(format!("{BESIDE} {}", self.dir.path().display()))
                .remedy("name a run of the same study, such as on another engine")
        };
        if resolved.study.name != study.name {
            let what = format!(
                "this is a run of `{}`, and the page is about `{}`",
                quoted(&resolved.study.name),
                quoted(&study.name)
            );
            return Err(refused(what));
        }
        let asks_alike = |name: &str, claim: &Claim| {
            // What an engine changes of a claim may differ.
            let asked = |of: &Claim| Claim {
                margin: None,
                size_not_comparable: None,
                not_comparable: None,
                primary: true,
                ..of.clone()
            };
            study.claim.get(name).is_none_or(|own| {
                let margins = own.margin.as_ref().zip(claim.margin.as_ref());
                asked(own) == asked(claim) && margins.is_none_or(|(own, other)| own == other)
            })
        };
        match resolved.study.claim.iter().find(|(name, claim)| !asks_alike(name, claim)) {
            Some((name, _)) => Err(refused(format!(
                "its claim `{}` differs from the page's in what it compares, expects or cites",
                quoted(name)
            ))),
            None => Record::of(&self.dir, findings_of(&self.dir, &resolved)?),
        }
    }
}

/// Reads `NAME=DIR`.
fn named_run(text: &str) -> Result<NamedRun, Fault> {
    let (name, dir) = text.split_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
        Fault::usage(format!("expected a name and a run's directory, found `{}`", quoted(text)))
            .at(BESIDE)
            .remedy("write for example --beside 'on Spark=runs/spark'")
    })?;
    Ok(NamedRun { name: name.trim().to_string(), dir: RunDir::open(Path::new(dir))? })
}

/// What a page says of a run beside its findings.
struct Record {
    findings: Findings,
    revisions: Vec<String>,
    command: String,
}

impl Record {
    fn of(dir: &RunDir, findings: Findings) -> Result<Self, Fault> {
        let bundled = crosstalk_study::bundled_study(&findings.study).is_some();
        let quick = if findings.run.quick { " --quick" } else { "" };
        // A bundled study is known by name everywhere; the run's directory is only known here.
        let command = match first_command(dir)? {
            _ if !bundled => findings.headline.command.clone(),
            Some(typed) => typed,
            None => format!("crosstalk run {}{quick}", findings.study),
        };
        Ok(Record { findings, revisions: revisions(dir)?, command })
    }

    fn on_page(&self) -> RunRecord<'_> {
        RunRecord { revisions: &self.revisions, command: &self.command }
    }
}

/// Writes the findings as a page that can be committed.
fn write_page(file: &Path, own: &Record, others: &[(&str, Record)]) -> Result<(), Fault> {
    let beside: Vec<Beside> = others
        .iter()
        .map(|(name, other)| Beside { name, findings: &other.findings, record: other.on_page() })
        .collect();
    let page = crosstalk_report::findings_page(&own.findings, &own.on_page(), &beside);
    regular::replace_content(file, &page).map_err(|e| unwritable_fault(PAGE, file, &e))
}
