//! The cluster of `--system`, `--mpi` and `--ranks`.

use clap::Args;
use crosstalk_core::Fault;
use crosstalk_core::emulation::{Emulation, Placement};
use crosstalk_core::fabric::Links;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::mpi::NO_MPI;
use crosstalk_study::plan::Place;

/// Which cluster virtual time emulates.
#[derive(Args)]
pub struct SystemArgs {
    /// Use this library's rules of message passing, such as `mpich-gm-1.2.6`, or `none` [default: the system's own].
    #[arg(long, value_name = "NAME", requires = "system")]
    pub mpi: Option<String>,
    /// Put so many ranks on each node.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "system")]
    pub ranks: u32,
}

/// The place of `nodes` nodes on a system: on one board if they fit, else on a board each.
///
/// # Errors
/// If the system or the library is unknown, or the nodes or ranks do not fit.
pub fn place(
    catalogues: &Catalogues,
    system: &str,
    args: &SystemArgs,
    nodes: usize,
) -> Result<(Place, Emulation), Fault> {
    let mpi = match args.mpi.as_deref() {
        None => catalogues.library_of(system),
        Some(NO_MPI) => None,
        Some(name) => Some(name.to_string()),
    };
    let on = |placement| Place::Virtual {
        system: system.into(),
        links: Links::default(),
        memory: None,
        mpi: mpi.clone(),
        placement,
        nodes,
        ranks: args.ranks,
    };
    let emulated = |place: Place| {
        let emulation = crosstalk_study::emulation(catalogues, &place)?;
        let emulation = emulation.ok_or_else(|| Fault::usage("expected a system"))?;
        Ok((place, emulation))
    };
    emulated(on(Placement::One)).or_else(|of_one| emulated(on(Placement::Many)).map_err(|_: Fault| of_one))
}
