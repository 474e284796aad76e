//! Whether nothing but the network differs between two cells.
//!
//! Then a change of waiting is the network's doing. Where nodes or what they
//! do differ as well, a node may also wait longer because another node takes
//! longer, and even a program on a faster network may wait for its disk.

use crosstalk_core::system::NodeKind;
use crosstalk_core::units::Hertz;

use super::cell::Cell;
use crate::catalogue::Catalogues;
use crate::plan::{Place, Scene};

/// Whether the two cells do the same work on as many and the same nodes.
pub fn alone((a, b): (&Cell, &Cell), catalogues: &Catalogues) -> bool {
    let [a, b]: [&Scene; 2] = [a, b].map(|cell| &cell.planned.scene);
    a.work == b.work && a.conditions == b.conditions && same_nodes(&a.place, &b.place, catalogues)
}

fn same_nodes(a: &Place, b: &Place, catalogues: &Catalogues) -> bool {
    match (a, b) {
        (Place::Real { scale: x, .. }, Place::Real { scale: y, .. }) => a.nodes() == b.nodes() && x == y,
        (Place::Virtual { .. }, Place::Virtual { .. }) => {
            let kinds = [a, b].map(|place| kind(place, catalogues));
            a.nodes() == b.nodes() && kinds[0].is_some() && kinds[0] == kinds[1]
        }
        _ => false,
    }
}

/// What of a node its speed depends on; `None` where the catalogue does not have it.
fn kind(place: &Place, catalogues: &Catalogues) -> Option<NodeKind> {
    let Place::Virtual { system, memory, .. } = place else { return None };
    let node = &catalogues.find_system(system).ok()?.0.node;
    let memory = memory.unwrap_or(node.memory);
    // Names say nothing: what is emulated of a processor is its cores and their speed.
    Some(NodeKind { cpu: String::new(), clock: Hertz(0.0), memory, ..node.clone() })
}
