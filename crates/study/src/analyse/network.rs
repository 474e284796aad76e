//! Whether two cells differ in nothing but the network.
//!
//! Then the network causes a change of waiting. Where nodes or their work differ as well, a node may also wait for a
//! slower node, or for a disk.

use crosstalk_core::system::NodeKind;
use crosstalk_core::units::Hertz;

use super::cell::Cell;
use crate::catalogue::Catalogues;
use crate::plan::{Place, Scene};

/// Whether two cells do the same work under the same conditions on as many nodes of the same kind, with the same
/// message-passing library.
pub fn only_network_differs((a, b): (&Cell, &Cell), catalogues: &Catalogues) -> bool {
    let [a, b]: [&Scene; 2] = [a, b].map(|cell| &cell.planned.scene);
    a.work == b.work && a.conditions == b.conditions && same_nodes(&a.place, &b.place, catalogues)
}

fn same_nodes(a: &Place, b: &Place, catalogues: &Catalogues) -> bool {
    match (a, b) {
        (Place::Real { scale: x, .. }, Place::Real { scale: y, .. }) => a.nodes() == b.nodes() && x == y,
        (Place::Virtual { mpi: x, ranks: m, .. }, Place::Virtual { mpi: y, ranks: n, .. }) => {
            let kinds = [a, b].map(|place| kind(place, catalogues));
            a.nodes() == b.nodes() && (x, m) == (y, n) && kinds[0].is_some() && kinds[0] == kinds[1]
        }
        _ => false,
    }
}

/// What the speed of a place's nodes depends on; `None` where the catalogue does not have its system.
fn kind(place: &Place, catalogues: &Catalogues) -> Option<NodeKind> {
    let Place::Virtual { system, memory, .. } = place else { return None };
    let node = &catalogues.find_system(system).ok()?.0.node;
    let memory = memory.unwrap_or(node.memory);
    // Of a processor only its cores and their speed are emulated.
    Some(NodeKind { cpu: String::new(), clock: Hertz(0.0), memory, ..node.clone() })
}
