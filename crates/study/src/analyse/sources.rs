//! Where the parameters of the fabrics, MPI profiles and systems that were used come from, and what of them is not emulated.

use crosstalk_core::fabric::Source;
use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::Catalogues;
use crate::cost::{COSTS, Cost};
use crate::findings::SourceNote;
use crate::node_number::{NODE_NUMBERS, NodeNumber};
use crate::plan::{Place, Plan, Uplink};
use crate::words::first_of;

/// The remark on cells whose links their systems never had.
const HYPOTHETICAL_LINKS: &str = "where `rate` or `latency` is given, a system has links it never had: G follows the rate, \
    while o, O and g stay those of its fabric, as if the same software drove a faster network; a real one would \
    cost the CPU more, or need other software";

/// The remark on cells whose boards' links were set.
const ASSUMED_UPLINKS: &str = "where `uplink` is given, the rate of the link that a board's nodes share is assumed: no source of \
    the system gives it";

/// The remark on cells whose nodes' memory or disk was set.
const SET_MEMORY_OR_DISK: &str = "where `memory` or `disk` is given, nodes have that: what does not fit is written to the disk and \
    read from it, by programs that can do so; it shows what spilling does, not how much the published nodes spilled";

/// The remark on clusters whose parameters have ranges.
const RANGES_LEAVE_OUT: &str = "memory has no range: an application decides while it runs how much it keeps on disk, and a replay \
    repeats what was recorded; to see what another memory does, run with it (the condition `memory`)";

/// The remark on parameters that could have a range, and have none.
fn without_range(parameters: &[String]) -> String {
    format!(
        "taken as exact, since no range is known: {} (try: give each a range in its file, even a wide one)",
        first_of(parameters)
    )
}

/// The remark on cells on machines of the user's.
const USER_CLUSTER: &str = "what ran on a cluster of the user's was measured there: the machine facts on this page \
    are those of the runner's machine, and what else ran on the cluster is not known";

/// What a report says of the clusters that a plan has.
pub struct Notes {
    /// The sources of all parameters, fabrics first.
    pub sources: Vec<SourceNote>,
    /// What limits the findings in cells whose clusters differ from their systems.
    pub remarks: Vec<String>,
    /// What the files of fabrics, libraries and systems say is not emulated.
    pub caveats: Vec<String>,
}

/// The notes about a plan's clusters.
pub fn notes(plan: &Plan, catalogues: &Catalogues) -> Notes {
    let (mut fabrics, mut rates, mut libraries) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    // By a system's name, network included: whether its nodes have several ranks.
    let mut systems: BTreeMap<&str, bool> = BTreeMap::new();
    let mut largest_scale: f64 = 1.0;
    let (mut hypothetical, mut assumed, mut limited, mut on_user_cluster) = (false, false, false, false);
    for cell in plan.experiments.iter().flat_map(|e| &e.cells) {
        match &cell.scene.place {
            Place::Virtual { system, links, uplink, memory, disk, mpi, ranks, .. } => {
                *systems.entry(system).or_default() |= *ranks > 1;
                libraries.extend(mpi.as_deref());
                hypothetical |= !links.is_unchanged();
                assumed |= matches!(uplink, Uplink::Rate(_) | Uplink::Oversubscribed(_));
                limited |= memory.is_some() || disk.is_some();
            }
            Place::Real { fabric, scale, .. } => {
                rates.insert(fabric.as_str());
                largest_scale = largest_scale.max(*scale);
            }
            Place::Outside { .. } => on_user_cluster = true,
        }
    }
    let mut of_systems = BTreeMap::new();
    for (name, several_ranks) in systems {
        let Ok((system, network)) = catalogues.find_system(name) else { continue };
        fabrics.extend([network.within.as_str(), network.across.as_str()]);
        fabrics.extend(system.within_node.as_deref().filter(|_| several_ranks));
        of_systems.insert(system.name.as_str(), system);
    }
    let (mut sources, mut remarks, mut caveats) = (Vec::new(), Vec::new(), Vec::new());
    let mut exact = Vec::new();
    for fabric in fabrics.into_iter().filter_map(|name| catalogues.find_fabric(name).ok()) {
        let mut costs = fabric.costs;
        let own = COSTS.into_iter().filter(|cost| cost.of(&mut costs).0 > 0.0).map(Cost::name);
        exact.extend(exact_names("fabric", &fabric.name, own, &fabric.source));
        sources.extend(source_notes("fabric", &fabric.name, &fabric.source));
        caveats.extend(fabric.caveats.iter().map(|text| format!("fabric {}: {text}", fabric.name)));
    }
    for mpi in libraries.into_iter().filter_map(|name| catalogues.find_mpi(name).ok()) {
        sources.extend(source_notes("MPI profile", &mpi.name, &mpi.source));
        caveats.extend(mpi.caveats.iter().map(|text| format!("MPI profile {}: {text}", mpi.name)));
    }
    // In real time a fabric sets nothing but the rate of its links.
    for fabric in rates.into_iter().filter_map(|name| catalogues.find_fabric(name).ok()) {
        sources.extend(
            source_notes("fabric", &fabric.name, &fabric.source).filter(|note| note.what.ends_with(": rate")),
        );
    }
    if assumed {
        remarks.push(ASSUMED_UPLINKS.to_string());
    }
    if hypothetical {
        remarks.push(HYPOTHETICAL_LINKS.to_string());
    }
    if limited {
        remarks.push(SET_MEMORY_OR_DISK.to_string());
    }
    if on_user_cluster {
        remarks.push(USER_CLUSTER.to_string());
    }
    if largest_scale > 1.0 {
        remarks.push(format!(
            "links ran at 1/{largest_scale} of their fabrics' rates: the ratios hold for a program with {largest_scale} times the data in as many messages"
        ));
    }
    let has_range = |source: &Source| source.range.is_some();
    if of_systems.values().any(|system| system.source.values().any(has_range)) {
        remarks.push(RANGES_LEAVE_OUT.to_string());
    }
    for system in of_systems.values() {
        let own =
            NODE_NUMBERS.into_iter().filter(|number| number.of(&system.node).is_some()).map(NodeNumber::name);
        exact.extend(exact_names("system", &system.name, own, &system.source));
        sources.extend(source_notes("system", &system.name, &system.source));
        caveats.extend(system.caveats.iter().map(|text| format!("system {}: {text}", system.name)));
    }
    if !exact.is_empty() {
        remarks.push(without_range(&exact));
    }
    Notes { sources, remarks, caveats }
}

/// The parameters of a file that have no range, and follow none that may have one.
fn exact_names<'a>(
    kind: &'a str,
    name: &'a str,
    parameters: impl Iterator<Item = &'static str> + 'a,
    sources: &'a BTreeMap<String, Source>,
) -> impl Iterator<Item = String> + 'a {
    let is_exact =
        |source: Option<&Source>| source.is_none_or(|of| of.range.is_none() && of.follows.is_none());
    parameters
        .filter(move |parameter| is_exact(sources.get(*parameter)))
        .map(move |parameter| format!("{kind} {name}: {parameter}"))
}

fn source_notes<'a>(
    kind: &'a str,
    name: &'a str,
    sources: &'a BTreeMap<String, Source>,
) -> impl Iterator<Item = SourceNote> + 'a {
    sources.iter().map(move |(parameter, source)| SourceNote {
        what: format!("{kind} {name}: {parameter}"),
        text: source.text.clone(),
        calibration: source.calibration,
    })
}
