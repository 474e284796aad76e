//! Claims that the model's parameters imply, whatever the work does.
//!
//! Where one of two clusters is at least as costly as the other in every parameter, and both do the same work, the direction of
//! their ratio was decided when the parameters were written: slower processors and dearer messages make no program end
//! earlier, but for the rare case in which a message that is late lets another pass.

use crosstalk_core::emulation::Emulation;
use crosstalk_core::fabric::{Costs, Fabric};
use crosstalk_core::record::Better;
use crosstalk_core::system::Disk;
use crosstalk_stats::latin::hypercube;
use crosstalk_stats::rng::Rng;
use std::collections::BTreeSet;

use super::cell::Cell;
use super::contrast::Contrast;
use super::select::View;
use crate::catalogue::Catalogues;
use crate::emulate::emulation;
use crate::uncertain::Uncertainty;

/// Clusters over the parameters' ranges on which one of two must be the costlier one.
const TRIED: usize = 64;

/// Whether parameters imply on which side of 1 a ratio of times or rates lies: `Some(true)` above, `Some(false)` below.
/// `None` where they do not: it may come out either way.
pub fn implied_above(view: &View, contrast: &Contrast, catalogues: &Catalogues) -> Option<bool> {
    let (of, to) = contrast.cells()?;
    let longer = costlier(of, to, catalogues)?;
    let metric = view.metric(&contrast.metric);
    match (metric.better, metric.unit.as_str()) {
        (Better::Lower, "s") => Some(longer),
        // Some rates are those of a core.
        (Better::Higher, unit) if unit.ends_with("/s") && have_equal_cores(of, to, catalogues) => {
            Some(!longer)
        }
        _ => None,
    }
}

/// Whether the first cell's cluster is the costlier one (`Some(true)`) or the second's, all over the parameters' ranges.
fn costlier(a: &Cell, b: &Cell, catalogues: &Catalogues) -> Option<bool> {
    let [one, other] = [a, b].map(|cell| &cell.planned.scene);
    if one.work != other.work {
        return None;
    }
    let emulated = |cell: &Cell| emulation(catalogues, &cell.planned.scene.place).ok().flatten();
    let clusters = [emulated(a)?, emulated(b)?];
    let uncertainty = Uncertainty::of(catalogues, &clusters).ok()?;
    let systems =
        clusters.each_ref().map(|of| catalogues.find_system(&of.system).map(|(system, _)| &system.name));
    let [Ok(first), Ok(second)] = systems else { return None };
    let drawn = hypercube(uncertainty.parameters.len(), TRIED, &mut Rng::seeded(1));
    let ends = [0.0, 1.0].map(|end| vec![end; uncertainty.parameters.len()]);
    let mut points = std::iter::once(uncertainty.values()).chain(ends).chain(drawn);
    let longer = |points: Vec<f64>| {
        let [x, y] = [(&clusters[0], first), (&clusters[1], second)]
            .map(|(cluster, system)| uncertainty.at(&points, cluster, system));
        match (at_least_as_costly(&x, &y), at_least_as_costly(&y, &x)) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    };
    let at_own = longer(points.next()?)?;
    points.all(|points| longer(points) == Some(at_own)).then_some(at_own)
}

fn have_equal_cores(a: &Cell, b: &Cell, catalogues: &Catalogues) -> bool {
    let [a, b] = [a, b].map(|cell| Some(emulation(catalogues, &cell.planned.scene.place).ok()??.node.cores));
    a == b
}

/// Whether every parameter of `a` costs as much as that of `b`, or more.
fn at_least_as_costly(a: &Emulation, b: &Emulation) -> bool {
    let (x, y) = (&a.node, &b.node);
    let disk = match (x.disk, y.disk) {
        (Some(x), Some(y)) => costs_of_disk(x).into_iter().zip(costs_of_disk(y)).all(|(x, y)| x >= y),
        (x, y) => x == y,
    };
    let memory = match (&a.memory, &b.memory) {
        (Some(x), Some(y)) => fabric_costs_more(x, y),
        (x, y) => x.is_none() && y.is_none(),
    };
    a.board.len() == b.board.len()
        && a.board == b.board
        && link_costs_more(a, b)
        && (a.ranks_per_node, &a.mpi) == (b.ranks_per_node, &b.mpi)
        && x.cores <= y.cores
        && x.speed <= y.speed
        && x.scaling <= y.scaling
        && x.memory <= y.memory
        && disk
        && memory
        && fabric_costs_more(&a.within, &b.within)
        && fabric_costs_more(&a.across, &b.across)
}

/// Whether the links of boards of `a` are as slow as those of `b`, or slower.
fn link_costs_more(a: &Emulation, b: &Emulation) -> bool {
    let [a, b] = [a, b].map(|of| of.uplink.map_or(f64::INFINITY, |rate| rate.0));
    a <= b
}

fn costs_of_disk(disk: Disk) -> [f64; 2] {
    [disk.latency.0, -disk.rate.0]
}

fn fabric_costs_more(a: &Fabric, b: &Fabric) -> bool {
    let sizes: BTreeSet<u64> =
        [0].into_iter().chain(a.step.iter().chain(&b.step).map(|step| step.from.0)).collect();
    let of = |costs: &Costs| {
        [costs.latency, costs.overhead, costs.gap, costs.gap_per_byte, costs.overhead_per_byte]
            .map(|cost| cost.0)
    };
    sizes
        .into_iter()
        .all(|size| of(a.costs_for(size)).into_iter().zip(of(b.costs_for(size))).all(|(a, b)| a >= b))
}
