//! Where the parameters of the fabrics and systems that were used come from.

use crosstalk_core::fabric::Source;
use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::Catalogues;
use crate::findings::SourceNote;
use crate::plan::{Place, Plan};

/// What holds of cells with links that their systems never had.
const IMAGINED: &str = "where `rate` or `latency` is given, a system has links it never had: G goes with the rate, \
    while o, O and g stay those of its fabric, as if the same software drove a faster network; a real one would \
    cost the CPU more, or need other software";

/// What holds of cells whose nodes have another memory than their systems'.
const SHORT: &str = "where `memory` is given, nodes have less than their systems: what does not fit is written to \
    a disk of that class and read from it, by programs that can do so; it tells what spilling does, not how much \
    the published nodes spilled";

/// What holds of cells on machines of the user's.
const OUTSIDE: &str = "what ran on a cluster of the user's was measured there: this page's facts are of the \
    machine that asked, and what else ran on the cluster is not known";

/// Sources by parameter, fabrics first; and what is known to be missing of them.
pub fn notes(plan: &Plan, catalogues: &Catalogues) -> (Vec<SourceNote>, Vec<String>) {
    let (mut fabrics, mut rates, mut systems) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut slowest: f64 = 1.0;
    let (mut imagined, mut short, mut outside) = (false, false, false);
    for cell in plan.experiments.iter().flat_map(|e| &e.cells) {
        match &cell.scene.place {
            Place::Virtual { system, links, memory, .. } => {
                systems.insert(system.as_str());
                imagined |= !links.is_unchanged();
                short |= memory.is_some();
            }
            Place::Real { fabric, scale, .. } => {
                rates.insert(fabric.as_str());
                slowest = slowest.max(*scale);
            }
            Place::Outside { .. } => outside = true,
        }
    }
    let mut of_systems = BTreeMap::new();
    for (system, network) in systems.into_iter().filter_map(|name| catalogues.find_system(name).ok()) {
        fabrics.extend([network.within.as_str(), network.across.as_str()]);
        of_systems.insert(system.name.as_str(), system);
    }
    let (mut sources, mut caveats) = (Vec::new(), Vec::new());
    for fabric in fabrics.into_iter().filter_map(|name| catalogues.find_fabric(name).ok()) {
        sources.extend(each("fabric", &fabric.name, &fabric.source));
        caveats.extend(fabric.caveats.iter().map(|text| format!("fabric {}: {text}", fabric.name)));
    }
    // In real time a fabric gives its links their rate, and nothing else.
    for fabric in rates.into_iter().filter_map(|name| catalogues.find_fabric(name).ok()) {
        sources.extend(
            each("fabric", &fabric.name, &fabric.source).filter(|note| note.what.ends_with(": rate")),
        );
    }
    if imagined {
        caveats.push(IMAGINED.to_string());
    }
    if short {
        caveats.push(SHORT.to_string());
    }
    if outside {
        caveats.push(OUTSIDE.to_string());
    }
    if slowest > 1.0 {
        caveats.push(format!(
            "links ran at 1/{slowest} of their fabrics' rates: the ratios hold for a program with {slowest} times the data in as many messages"
        ));
    }
    for system in of_systems.values() {
        sources.extend(each("system", &system.name, &system.source));
        caveats.extend(system.caveats.iter().map(|text| format!("system {}: {text}", system.name)));
    }
    (sources, caveats)
}

fn each<'a>(
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
