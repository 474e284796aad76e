//! `crosstalk run`.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::regular;
use crosstalk_lab::rundir::RunDir;

use crate::args::RunArgs;
use crate::exports::unwritable_fault;
use crate::out::Out;
use crate::perform::{RunSettings, RunStart, perform};
use crate::prepare::{check_inputs, prepare};
use crate::resolved::Resolved;
use crate::streams::wait_for_readers_at_end;
use crate::{shell, signal};

/// Runs `crosstalk run`.
pub fn main(args: RunArgs, out: &Out) -> Result<ExitCode, Fault> {
    let interrupted = signal::interrupted()?;
    wait_for_readers_at_end(&interrupted)?;
    args.perform.export.check()?;
    let study = args.study.clone();
    let resolved = signal::unless_interrupted_during(&interrupted, move || prepare(&study))?;
    if resolved.plan.cells().next().is_none() {
        let why = resolved.plan.limits().join("; ");
        return Err(Fault::usage(format!("there is nothing to run: {why}"))
            .remedy("set the factor's levels with --set, or see crosstalk plan"));
    }
    let inputs = check_inputs(&resolved.whole)?;
    // Everything is checked before the run has a directory: until then an interruption leaves nothing to resume.
    let settings = RunSettings::new(&args.perform, &resolved.whole, interrupted)?;
    args.save.as_deref().map_or(Ok(()), |file| may_save(file, args.force))?;
    let dir = match &args.out {
        Some(path) => RunDir::create(path)?,
        None => RunDir::create_next(Path::new("runs"), &resolved.plan.study)?,
    };
    if let Some(file) = &args.save {
        save(file, &resolved, args.force)?;
    }
    // A directory with a part of these files is no run: nothing could read it.
    resolved.save(&dir, settings.testbed_name()).inspect_err(|_| dir.discard_unmeasured())?;
    let notes = args.study.runs.map(|_| resolved.plan.decides_in_words()).into_iter().chain(inputs).collect();
    let command = shell::repeat_line(&args, &dir, resolved.plan.reduced);
    perform(&dir, resolved, None, RunStart { command, notes, settings: &settings }, out)
}

fn exists_already(file: &Path) -> Fault {
    Fault::usage(format!("{} is there already", file.display()))
        .at("--save")
        .remedy("name another file, or overwrite this one with --force")
}

/// Refuses a file that cannot be saved to, before the run has a directory.
fn may_save(file: &Path, force: bool) -> Result<(), Fault> {
    match file.parent() {
        _ if file.exists() && !force => Err(exists_already(file)),
        _ if file.exists() => regular::may_write(file).map_err(|e| unwritable_fault("--save", file, &e)),
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(Fault::usage(format!("{}: there is no such directory", file.display()))
                .at("--save")
                .remedy("create it, or name a file elsewhere"))
        }
        _ => Ok(()),
    }
}

/// Writes the study to a file of the user; overwrites one only with `force`.
fn save(file: &Path, resolved: &Resolved, force: bool) -> Result<(), Fault> {
    let mut options = OpenOptions::new();
    options.create_new(!force).create(force).truncate(force);
    let text = crosstalk_study::to_toml(&resolved.study);
    let written =
        regular::open_to_write(&mut options, file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => exists_already(file),
        _ => unwritable_fault("--save", file, &e),
    })
}
