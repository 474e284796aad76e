//! The cluster of `--system`, `--mpi` and `--ranks`.

use crosstalk_core::Fault;
use crosstalk_core::emulation::{Emulation, Placement};
use crosstalk_core::fabric::Links;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::plan::Place;

use crate::args::SystemArgs;

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
    let mpi = catalogues.library_on(system, args.mpi.as_deref());
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
