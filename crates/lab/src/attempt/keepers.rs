//! The conditions and observers that each node's keeper applies during an attempt. The first of the nodes
//! of a host does what concerns the whole host.

use std::collections::{BTreeMap, BTreeSet};

use crosstalk_core::Fault;
use crosstalk_core::message::{ObserverPart, Surroundings};
use crosstalk_core::registry::Registry;
use crosstalk_core::scene::Scope;
use crosstalk_study::plan::Scene;

use crate::agent_pool::{AgentId, AgentPool};

/// The conditions and observers of each keeper, by node.
#[derive(Default)]
pub struct Assignments(pub BTreeMap<usize, Surroundings>);

/// Assigns a scene's conditions and observers to the keepers of its nodes.
///
/// # Errors
/// If the scene names a condition or an observer that is not registered.
pub fn assign_to_keepers(scene: &Scene, registry: &Registry, pool: &AgentPool) -> Result<Assignments, Fault> {
    let count = |background_only: bool| {
        let works = scene.work.values().filter(|work| work.lasts || !background_only);
        works.map(|work| work.nodes).max().unwrap_or(0)
    };
    let nodes = |scope: Scope| -> Vec<usize> {
        match scope {
            Scope::Node => (0..count(false)).collect(),
            Scope::Background => (0..count(true)).collect(),
            Scope::Host => {
                let mut hosts = BTreeSet::new();
                (0..count(false)).filter(|node| hosts.insert(pool.host_of(*node))).collect()
            }
        }
    };
    let mut assignments: BTreeMap<usize, Surroundings> = BTreeMap::new();
    for (name, value) in &scene.conditions {
        for node in nodes(registry.condition(name)?.scope()) {
            assignments.entry(node).or_default().conditions.push((name.clone(), value.clone()));
        }
    }
    for name in &scene.observe {
        let nodes = nodes(registry.observer(name)?.scope());
        let several = nodes.len() > 1;
        for node in nodes {
            let part = ObserverPart { observer: name.clone(), node: several.then_some(node) };
            assignments.entry(node).or_default().observers.push(part);
        }
    }
    Ok(Assignments(assignments))
}

impl Assignments {
    /// The keepers that have something to do.
    pub fn keepers(&self) -> impl Iterator<Item = AgentId> {
        self.0.keys().map(|node| AgentId::keeper(*node))
    }

    /// Fills in the process ids of the agents of background work on each node.
    pub fn name_background_processes(&mut self, pool: &AgentPool, background: &BTreeSet<AgentId>) {
        for (node, surroundings) in &mut self.0 {
            let here = background.iter().filter(|agent| agent.node == *node);
            surroundings.lasting = here.map(|agent| pool.process_id(*agent)).collect();
        }
    }
}
