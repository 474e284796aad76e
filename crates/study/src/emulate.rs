//! The emulation of a place: nodes on boards, with their fabrics.

use crate::catalogue::Catalogues;
use crate::plan::Place;
use crosstalk_core::Fault;
use crosstalk_core::emulation::{Emulation, Placement};
use crosstalk_core::system::NodeKind;

/// What is emulated at `place`; `None` in real time.
///
/// # Errors
/// A usage fault where the system or one of its fabrics is unknown, or has too few boards or nodes for the placement.
pub fn emulation(catalogues: &Catalogues, place: &Place) -> Result<Option<Emulation>, Fault> {
    let Place::Virtual { system: name, links, memory, placement, nodes } = place else { return Ok(None) };
    let (system, network) = catalogues.find_system(name)?;
    let board = match placement {
        Placement::One if *nodes > system.boards.nodes as usize => {
            return Err(Fault::usage(format!(
                "{nodes} nodes do not fit on one board of `{name}`, which holds {}",
                system.boards.nodes
            ))
            .remedy("take fewer nodes, exclude the combination, or set boards = \"many\""));
        }
        Placement::Many if *nodes > system.boards.count as usize => {
            return Err(Fault::usage(format!(
                "{nodes} nodes, each on a board of its own, do not fit in `{name}`, which has {} boards",
                system.boards.count
            ))
            .remedy("take fewer nodes, or exclude the combination"));
        }
        Placement::One => vec![0; *nodes],
        Placement::Many => (0u32..).take(*nodes).collect(),
    };
    Ok(Some(Emulation {
        system: name.clone(),
        node: NodeKind { memory: memory.unwrap_or(system.node.memory), ..system.node.clone() },
        board,
        within: catalogues.find_fabric(&network.within)?.clone().with_links(links),
        across: catalogues.find_fabric(&network.across)?.clone().with_links(links),
        ranks_per_node: 1,
        memory: None,
        mpi: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::fabric::Links;
    use crosstalk_core::testbed::Link;
    use crosstalk_core::units::{BitRate, Bytes, Seconds};

    fn on(placement: Placement, nodes: usize) -> Place {
        Place::Virtual {
            system: "kosmos-srio".into(),
            links: Links::default(),
            memory: None,
            placement,
            nodes,
        }
    }

    #[test]
    fn nodes_share_a_board_or_have_one_each() {
        let catalogues = Catalogues::bundled();
        let boards = |place| emulation(&catalogues, &place).expect("fits").expect("virtual").board;
        assert_eq!(boards(on(Placement::One, 2)), [0, 0]);
        assert_eq!(boards(on(Placement::Many, 3)), [0, 1, 2]);
    }

    #[test]
    fn other_links_replace_the_systems_own() {
        let links = Links { rate: Some(BitRate(1e11)), latency: Some(Seconds(1e-6)) };
        let mut place = on(Placement::Many, 2);
        if let Place::Virtual { links: own, .. } = &mut place {
            *own = links;
        }
        let emulated = emulation(&Catalogues::bundled(), &place).expect("fits").expect("virtual");
        assert_eq!((emulated.across.rate, emulated.within.rate), (BitRate(1e11), BitRate(1e11)));
        assert_eq!(emulated.across.costs.latency, Seconds(1e-6));
    }

    #[test]
    fn another_memory_replaces_the_systems_own() {
        let node = |memory: Option<Bytes>| {
            let mut place = on(Placement::Many, 2);
            if let Place::Virtual { memory: own, .. } = &mut place {
                *own = memory;
            }
            emulation(&Catalogues::bundled(), &place).expect("fits").expect("virtual").node
        };
        assert_eq!(node(None).memory, Bytes(8_000_000_000));
        let less = node(Some(Bytes(1 << 20)));
        assert_eq!(less.memory, Bytes(1 << 20));
        assert_eq!(NodeKind { memory: Bytes(8_000_000_000), ..less }, node(None));
    }

    #[test]
    fn more_nodes_than_there_are_is_a_fault() {
        let catalogues = Catalogues::bundled();
        for (place, why) in [(on(Placement::One, 5), "holds 4"), (on(Placement::Many, 17), "has 16 boards")] {
            let fault = emulation(&catalogues, &place).expect_err("does not fit");
            assert!(fault.message.contains(why), "{fault}");
        }
    }

    #[test]
    fn nothing_is_emulated_in_real_time() {
        let place = Place::Real { fabric: "none".into(), link: Link::Unshaped, scale: 1.0, nodes: 2 };
        assert_eq!(emulation(&Catalogues::new(), &place), Ok(None));
    }
}
