//! Work that is done once in a run, and replayed wherever only the cluster differs.
//!
//! The first faithful attempt is recorded in the folder that all nodes see. Its ranks' computing counts on every cluster
//! that the run compares, as raw time of the host; what their messages cost is computed again on each.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crosstalk_comm::{Recording, TimeAccount};
use crosstalk_core::Fault;
use crosstalk_core::emulation::Emulation;
use crosstalk_core::message::Part;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::record::{Origin, Reading};
use crosstalk_core::scene::Sink;

use super::record::{RECORD, hashed};

/// The parameter of workloads that can be replayed.
pub const REPLAY: Parameter = Parameter::new(
    "replay",
    "false",
    "do the work once in the run, in virtual time, and replay it in all other attempts and on all other systems",
);

/// The longest time to replay a cell on all clusters.
const LONGEST: Duration = Duration::from_secs(120);

/// Reports a replay: each rank's clock wherever its program asked for it, and at its end.
pub type Report = Box<dyn Fn(&[Vec<TimeAccount>], &mut dyn Sink) -> Result<(), Fault> + Send>;

/// How a part's times are obtained: emulated by virtual clocks, or measured in real time.
pub fn origin(part: &Part) -> Origin {
    if part.emulation.is_some() { Origin::Emulated } else { Origin::Measured }
}

/// Where the schedule of work that is done once is kept; `None` where it is to be done each time.
///
/// # Errors
/// If the parameter is neither `true` nor `false`, or in real time.
pub(super) fn file(part: &Part) -> Result<Option<PathBuf>, Fault> {
    if !part.params.flag(REPLAY.name, false)? {
        return Ok(None);
    }
    let Some(emulation) = &part.emulation else {
        return Err(Fault::usage("work is replayed in virtual time, and this is a real network")
            .of_parameter(REPLAY.name)
            .remedy("leave `replay` out, or replace `fabric` by a system"));
    };
    let Some(shared) = &part.shared else { return Ok(None) };
    in_folder(shared.join("schedules"), part, emulation).map(Some)
}

/// Where the schedule of work that is done each time is kept for replays on other clusters; `None` where it is not.
///
/// # Errors
/// Those of making the folder.
pub(super) fn kept(part: &Part) -> Result<Option<PathBuf>, Fault> {
    let is_artifact = part.params.flag(RECORD.name, false)?;
    let (Some(emulation), Some(shared)) = (&part.emulation, &part.shared) else { return Ok(None) };
    if !part.keep_schedule || is_artifact {
        return Ok(None);
    }
    in_folder(shared.join("schedules").join("each"), part, emulation).map(Some)
}

/// The file of this work's schedule in a folder, which is made.
fn in_folder(folder: PathBuf, part: &Part, emulation: &Emulation) -> Result<PathBuf, Fault> {
    let made = fs::create_dir_all(&folder);
    made.map_err(|e| Fault::environment(format!("cannot make {}: {e}", folder.display())))?;
    Ok(folder.join(file_name(part, emulation)))
}

/// The name of the schedule of this work. Equal on all systems whose nodes have as much memory, and with all libraries:
/// those do not change what is done.
fn file_name(part: &Part, emulation: &Emulation) -> String {
    let about: BTreeMap<_, _> = part
        .params
        .0
        .iter()
        .filter(|(name, _)| ![RECORD.name, REPLAY.name].contains(&name.as_str()))
        .collect();
    let ranks = part.nodes * emulation.ranks_per_node.max(1) as usize;
    let what = format!("{about:?} {ranks} {:?} {}", emulation.node.memory, part.seed);
    format!("{}-{:016x}.schedule", part.workload, hashed(&what))
}

/// Replays the schedule in a file, and reports it.
pub(super) fn replay(
    file: &Path,
    emulation: &Emulation,
    report: &Report,
    out: &mut dyn Sink,
) -> Result<(), Fault> {
    report(&Recording::read(file)?.replay(emulation)?, out)
}

/// What a part would report on each of these clusters, from the schedule that it or another attempt has kept; `None`: there
/// is none. Clusters are shared out over the processors.
///
/// # Errors
/// If the schedule cannot be read or not be replayed, or where all clusters would take longer than [`LONGEST`].
pub fn on_clusters(
    part: &Part,
    clusters: &[Emulation],
    report: impl Fn() -> Report + Sync,
) -> Result<Option<Vec<Vec<Reading>>>, Fault> {
    let file = match file(part)? {
        Some(file) => Some(file),
        None => kept(part)?,
    };
    let Some(file) = file.filter(|file| file.exists()) else { return Ok(None) };
    let recording = Recording::read(&file)?;
    let on = |cluster: &Emulation| {
        let mut readings = Vec::new();
        report()(&recording.replay(cluster)?, &mut readings)?;
        Ok(readings)
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let Some((first, clusters)) = clusters.split_first() else { return Ok(Some(Vec::new())) };
    let began = Instant::now();
    let first = on(first)?;
    let all_take = began.elapsed().mul_f64(clusters.len() as f64 / threads as f64);
    if all_take > LONGEST {
        return Err(Fault::attempt(format!(
            "{} clusters would take {:.0} s, and at most {} s are spent on a cell",
            clusters.len(),
            all_take.as_secs_f64(),
            LONGEST.as_secs()
        )));
    }
    let parts = clusters.chunks(clusters.len().div_ceil(threads).max(1));
    let replayed: Vec<Result<Vec<Vec<Reading>>, Fault>> = thread::scope(|scope| {
        let (on, spawned): (_, Vec<_>) = (&on, parts.collect());
        let spawned: Vec<_> = spawned
            .into_iter()
            .map(|part| scope.spawn(move || part.iter().map(on).collect::<Result<Vec<_>, Fault>>()))
            .collect();
        spawned.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let all: Result<Vec<_>, Fault> = replayed.into_iter().collect();
    all.map(|parts| Some(std::iter::once(first).chain(parts.into_iter().flatten()).collect()))
}
