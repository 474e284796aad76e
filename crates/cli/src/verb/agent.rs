//! The hidden verbs: what the program is when another of its processes starts it.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::ledger::TemporaryFolder;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_lab::agent::{NodeContext, serve};

use crate::args::Words;
use crate::{parts, signal};

pub fn main(args: &Words) -> Result<ExitCode, Fault> {
    signal::leave_to_the_runner()?;
    let folder = Folder::new(args.words.first().map(PathBuf::from));
    let made = || folder.made();
    let node = NodeContext { registry: &parts::registry(), facts: &parts::facts, folder: &made };
    let served = serve(&node, std::io::stdin(), std::io::stdout());
    // What was kept between attempts. Where this is not reached, the testbed ends
    // it with the agent.
    crosstalk_apps::engine::spark::close();
    crosstalk_tools::sysbench::close();
    served.map(|()| ExitCode::SUCCESS)
}

/// An agent's folder for temporary files: one that goes with its cluster, or one of its own, which goes with
/// the agent however that ends.
struct Folder {
    given: Option<PathBuf>,
    own: OnceCell<TemporaryFolder>,
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Self {
        Folder { given, own: OnceCell::new() }
    }

    /// The folder, made where it is not there yet.
    fn made(&self) -> Result<PathBuf, Fault> {
        if let Some(path) = &self.given {
            fs::create_dir_all(path).map_err(|e| {
                Fault::environment(format!("cannot make a folder for temporary files: {e}"))
                    .at(path.display().to_string())
            })?;
            return Ok(path.clone());
        }
        if let Some(own) = self.own.get() {
            return Ok(own.path().to_path_buf());
        }
        let made = Ledger::open(&Launcher::current())?.temporary_folder("temporary files of an agent")?;
        Ok(self.own.get_or_init(|| made).path().to_path_buf())
    }
}

pub fn end() -> Result<ExitCode, Fault> {
    let (orders, out) = (std::io::stdin().lock(), std::io::stdout().lock());
    crosstalk_probe::wire::serve(orders, out).map(|()| ExitCode::SUCCESS)
}

pub fn hold(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_testbed::holder_main(&args.words))
}

pub fn reap(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_host::reaper_main(&args.words))
}
