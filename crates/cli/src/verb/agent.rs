//! The hidden verbs, by which the program starts itself as another process.

use std::cell::OnceCell;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::ledger::TemporaryFolder;
use crosstalk_host::{Launcher, Ledger};
use crosstalk_lab::agent::{NodeContext, serve_runner};

use crate::args::Words;
use crate::{parts, signal};

/// Runs an agent of a node, for the hidden verb `agent`: it exchanges messages with the runner over its standard input
/// and output. The first word names its folder for temporary files.
pub fn main(args: &Words) -> Result<ExitCode, Fault> {
    signal::ignore_interruptions()?;
    let folder = Folder::new(args.words.first().map(PathBuf::from));
    let create = || folder.create();
    let node = NodeContext { registry: &parts::registry(), facts: &parts::facts, folder: &create };
    let served = serve_runner(&node, std::io::stdin(), std::io::stdout());
    // These were kept between attempts. If this is not reached, the testbed ends them with the agent.
    crosstalk_apps::engine::spark::end_kept_clusters();
    crosstalk_tools::sysbench::end_kept_server();
    served.map(|()| ExitCode::SUCCESS)
}

/// An agent's folder for temporary files: its cluster's, or one of its own. Its own is removed when the agent ends,
/// however it ends.
struct Folder {
    given: Option<PathBuf>,
    own: OnceCell<TemporaryFolder>,
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Self {
        Folder { given, own: OnceCell::new() }
    }

    /// The folder, created if missing.
    fn create(&self) -> Result<PathBuf, Fault> {
        if let Some(path) = &self.given {
            fs::create_dir_all(path).map_err(|e| {
                Fault::environment(format!("cannot create a folder for temporary files: {e}"))
                    .at(path.display().to_string())
            })?;
            return Ok(path.clone());
        }
        if let Some(own) = self.own.get() {
            return Ok(own.path().to_path_buf());
        }
        let scratch = Ledger::open(&Launcher::current())?.temporary_folder("temporary files of an agent")?;
        Ok(self.own.get_or_init(|| scratch).path().to_path_buf())
    }
}

/// Runs an endpoint of the probe `wire`, for the hidden verb `end`.
pub fn run_endpoint() -> Result<ExitCode, Fault> {
    let (settings, out) = (std::io::stdin().lock(), std::io::stdout().lock());
    crosstalk_probe::wire::run_endpoint(settings, out).map(|()| ExitCode::SUCCESS)
}

/// Runs the holder of a virtual cluster, for the hidden verb `hold`.
pub fn run_holder(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_testbed::holder_main(&args.words))
}

/// Runs the reaper of a ledger, for the hidden verb `reap`.
pub fn run_reaper(args: Words) -> Result<ExitCode, Fault> {
    Ok(crosstalk_host::reaper_main(&args.words))
}
