//! Which nodes have which conditions and observers during an attempt. What concerns a whole host is done
//! by the first of the nodes that share it.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_core::Fault;
use crosstalk_core::message::{Observed, Surroundings};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::Scope;
use crosstalk_study::plan::Scene;

use crate::troupe::{KEEPER, Seat, Troupe};

/// What each keeper is told, by node.
#[derive(Default)]
pub struct Kept(pub BTreeMap<usize, Surroundings>);

/// Who keeps what of a scene.
///
/// # Errors
/// Where it names what is not registered.
pub fn of(scene: &Scene, registry: &Registry, troupe: &Troupe) -> Result<Kept, Fault> {
    let count = |lasting: bool| {
        let works = scene.work.values().filter(|work| work.lasts || !lasting);
        works.map(|work| work.nodes).max().unwrap_or(0)
    };
    let nodes = |scope: Scope| -> Vec<usize> {
        match scope {
            Scope::Node => (0..count(false)).collect(),
            Scope::Background => (0..count(true)).collect(),
            Scope::Host => {
                let mut hosts = BTreeSet::new();
                (0..count(false)).filter(|node| hosts.insert(troupe.host(*node))).collect()
            }
        }
    };
    let mut kept: BTreeMap<usize, Surroundings> = BTreeMap::new();
    for (name, value) in &scene.conditions {
        for node in nodes(registry.condition(name)?.scope()) {
            kept.entry(node).or_default().conditions.push((name.clone(), value.clone()));
        }
    }
    for name in &scene.observe {
        let places = nodes(registry.observer(name)?.scope());
        let several = places.len() > 1;
        for node in places {
            let observed = Observed { observer: name.clone(), node: several.then_some(node) };
            kept.entry(node).or_default().observers.push(observed);
        }
    }
    Ok(Kept(kept))
}

impl Kept {
    /// The keepers' seats.
    pub fn seats(&self) -> impl Iterator<Item = Seat> {
        self.0.keys().map(|node| (KEEPER, *node))
    }

    /// Notes which processes the agents of work that lasts have on each node.
    pub fn name_processes(&mut self, troupe: &Troupe, lasting: &BTreeSet<Seat>) {
        for (node, surroundings) in &mut self.0 {
            let here = lasting.iter().filter(|seat| seat.1 == *node);
            surroundings.lasting = here.map(|seat| troupe.process(*seat)).collect();
        }
    }
}
