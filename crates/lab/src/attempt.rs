//! One try at one cell: the agents have its conditions and observers stand around its parts, and
//! perform these; then everything is undone.

mod cast;
mod cause;
mod context;
mod inbox;
mod kept;
mod play;
mod steps;

use std::collections::BTreeSet;

use crosstalk_core::fidelity::Fidelity;
use crosstalk_core::record::Status;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::Scene;

use crate::troupe::{Seat, Troupe};
use cast::{Cast, Seen};
use context::{Keep, Trouble};
use inbox::Inbox;

pub use context::Given;

/// How an attempt ended.
pub struct Ended {
    pub status: Status,
    pub reason: Option<String>,
    /// Whether it failed because of what was asked for, and would again.
    pub asked: bool,
    pub fidelity: Option<Fidelity>,
}

/// Performs `scene`, handing every reading to `journal` as it arrives. A fault
/// of the journal is returned; everything else is the attempt's own ending.
pub fn perform(
    troupe: &mut Troupe,
    scene: &Scene,
    given: &Given,
    journal: &mut Keep,
) -> Result<Ended, Fault> {
    match stage(troupe, scene, given, journal) {
        Ok(fidelity) => Ok(Ended { status: Status::Finished, reason: None, asked: false, fidelity }),
        Err(Trouble::Journal(fault)) => Err(fault),
        Err(Trouble::Attempt(fault)) if fault.kind == FaultKind::Interrupted => {
            Ok(Ended { status: Status::Interrupted, reason: None, asked: false, fidelity: None })
        }
        Err(Trouble::Attempt(fault)) => {
            let asked = fault.kind == FaultKind::Usage;
            Ok(Ended { status: Status::Failed, reason: Some(fault.sentence()), asked, fidelity: None })
        }
    }
}

fn stage(
    troupe: &mut Troupe,
    scene: &Scene,
    given: &Given,
    journal: &mut Keep,
) -> Result<Option<Fidelity>, Trouble> {
    troupe.link(&scene.place)?;
    let (lasting, ending) = (seats(scene, true), seats(scene, false));
    let mut kept = kept::of(scene, given.registry, troupe)?;
    let all = lasting.iter().chain(&ending).copied().chain(kept.seats()).collect::<Vec<Seat>>();
    troupe.seat(&all)?;
    kept.name_processes(troupe, &lasting);
    let mut seen = Seen {
        busy: BTreeSet::new(),
        journal,
        fidelity: None,
        inbox: Inbox::new(given.artifacts.as_deref()),
    };
    let mut cast = Cast::new(troupe, scene, given, kept);
    let played = cast.put(&mut seen).and_then(|()| cast.play(&lasting, &ending, &mut seen));
    let cleared = cast.clear(&mut seen);
    match (played, cleared) {
        (Err(Trouble::Attempt(_)), Err(Trouble::Journal(fault))) => Err(Trouble::Journal(fault)),
        (Err(trouble), _) | (Ok(()), Err(trouble)) => Err(trouble),
        (Ok(()), Ok(())) => Ok(seen.fidelity),
    }
}

/// The seats of a scene's work, by whether it lasts.
fn seats(scene: &Scene, lasts: bool) -> BTreeSet<Seat> {
    let of = scene.work.values().enumerate().filter(|(_, work)| work.lasts == lasts);
    of.flat_map(|(number, work)| (0..work.nodes).map(move |node| (number, node))).collect()
}
