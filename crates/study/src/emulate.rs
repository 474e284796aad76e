//! The emulation of a place: nodes on boards, with their fabrics.

use crate::catalogue::Catalogues;
use crate::plan::{Place, Uplink};
use crate::words::count_in_words;
use crosstalk_core::Fault;
use crosstalk_core::emulation::{Emulation, Placement};
use crosstalk_core::fabric::Links;
use crosstalk_core::system::{NodeKind, System};
use crosstalk_core::units::BitRate;

/// What is emulated at `place`; `None` in real time.
///
/// # Errors
/// A usage fault where the system, one of its fabrics or the MPI profile is unknown, or where the system has too few
/// boards or nodes for the placement, or nodes that cannot have so many ranks.
pub fn emulation(catalogues: &Catalogues, place: &Place) -> Result<Option<Emulation>, Fault> {
    let Place::Virtual { system: name, links, uplink, memory, disk, mpi, placement, nodes, ranks } = place
    else {
        return Ok(None);
    };
    let (system, network) = catalogues.find_system(name)?;
    check_ranks(name, system, *ranks)?;
    let board = match placement {
        Placement::One if *nodes > system.boards.nodes as usize => {
            return Err(Fault::usage(format!(
                "{nodes} nodes do not fit on one board of `{name}`, which holds {}",
                system.boards.nodes
            ))
            .remedy(match *nodes <= system.boards.count as usize {
                true => "take fewer nodes, exclude the combination, or set boards = \"many\"",
                false => "take fewer nodes, exclude the combination, or add a larger system to a catalogue",
            }));
        }
        Placement::Many if *nodes > system.boards.count as usize => {
            return Err(Fault::usage(format!(
                "{nodes} nodes, each on a board of its own, do not fit in `{name}`, which has {}",
                count_in_words(system.boards.count as usize, "board")
            ))
            .remedy(match *nodes {
                few if few <= system.boards.nodes as usize => "set boards = \"one\": they fit on one",
                some if some <= system.number_of_nodes() => "set boards = \"full\": they fit on full boards",
                _ => "take fewer nodes, or exclude the combination",
            }));
        }
        Placement::Full if *nodes > system.number_of_nodes() => {
            return Err(Fault::usage(format!(
                "{nodes} nodes do not fit in `{name}`, which has {}",
                count_in_words(system.number_of_nodes(), "node")
            ))
            .remedy("take fewer nodes, exclude the combination, or add a larger system to a catalogue"));
        }
        Placement::One => vec![0; *nodes],
        Placement::Full => (0..*nodes as u32).map(|node| node / system.boards.nodes).collect(),
        Placement::Many => (0u32..).take(*nodes).collect(),
    };
    let speed = system.node.speed;
    let fabric = |name: &str| Ok::<_, Fault>(catalogues.find_fabric(name)?.clone().on_nodes(speed));
    let (within, across) = (fabric(&network.within)?, fabric(&network.across)?);
    let across = across.with_links(links);
    let uplink = match uplink {
        Uplink::OfSystem => network.uplink,
        Uplink::Unlimited => None,
        Uplink::Rate(rate) => Some(*rate),
        // Of what links carry, without framing: a byte takes G.
        Uplink::Oversubscribed(by) => {
            let byte = across.costs_for(u64::MAX).gap_per_byte.0;
            (byte > 0.0).then(|| BitRate(8.0 / byte * f64::from(system.boards.nodes) / by))
        }
    };
    Ok(Some(Emulation {
        system: name.clone(),
        node: NodeKind {
            memory: memory.unwrap_or(system.node.memory),
            disk: disk.or(system.node.disk),
            ..system.node.clone()
        },
        board,
        within: within.with_links(links),
        across,
        uplink,
        ranks_per_node: *ranks,
        memory: system.within_node.as_ref().map(|name| fabric(name)).transpose()?,
        mpi: mpi.as_ref().map(|name| catalogues.find_mpi(name)).transpose()?.cloned(),
    }))
}

/// A cluster without a study: `nodes` nodes of a system with `ranks` ranks each, on one board if they fit, else on a board
/// each, else on full boards. `library` replaces that of the system's network.
///
/// # Errors
/// If the system or the library is unknown, or nodes or ranks do not fit.
pub fn emulated_place(
    catalogues: &Catalogues,
    system: &str,
    library: Option<&str>,
    ranks: u32,
    nodes: usize,
) -> Result<(Place, Emulation), Fault> {
    let on = |placement| Place::Virtual {
        system: system.into(),
        links: Links::default(),
        uplink: Uplink::OfSystem,
        memory: None,
        disk: None,
        mpi: catalogues.library_on(system, library),
        placement,
        nodes,
        ranks,
    };
    let emulated = |place: Place| {
        let emulation = emulation(catalogues, &place)?;
        Ok(emulation.map(|emulation| (place, emulation)).expect("a place in virtual time is emulated"))
    };
    let or = |placement| move |of_one| emulated(on(placement)).map_err(|_: Fault| of_one);
    emulated(on(Placement::One)).or_else(or(Placement::Many)).or_else(or(Placement::Full))
}

/// Refuses more ranks a node than a node has cores, and several without a fabric between them.
fn check_ranks(name: &str, system: &System, ranks: u32) -> Result<(), Fault> {
    let cores = system.node.cores;
    if ranks == 0 {
        return Err(
            Fault::usage("expected at least one rank on each node, found 0").remedy("write for example 1")
        );
    }
    if ranks > cores {
        return Err(Fault::usage(format!(
            "{ranks} ranks do not fit on a node of `{name}`, which has {}",
            count_in_words(cores as usize, "core")
        ))
        .remedy("take fewer ranks, or exclude the combination"));
    }
    if ranks > 1 && system.within_node.is_none() {
        let show = format!("crosstalk show systems/{}", system.name);
        return Err(Fault::usage(format!("`{name}` has no fabric between ranks of one node")).remedy(
            format!(
                "leave `ranks` out, or add within_node = \"…\", a fabric, to a copy of the system ({show})"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::fabric::Links;
    use crosstalk_core::system::Disk;
    use crosstalk_core::testbed::Link;
    use crosstalk_core::units::{Bytes, Seconds};

    fn on(placement: Placement, nodes: usize) -> Place {
        Place::Virtual {
            system: "kosmos-srio".into(),
            links: Links::default(),
            uplink: Uplink::OfSystem,
            memory: None,
            disk: None,
            mpi: None,
            placement,
            nodes,
            ranks: 1,
        }
    }

    /// Two nodes of a system, with an MPI profile and some ranks each.
    fn with_ranks(name: &str, library: Option<&str>, number: u32) -> Result<Option<Emulation>, Fault> {
        let mut place = on(Placement::Many, 2);
        if let Place::Virtual { system, mpi, placement, ranks, .. } = &mut place {
            (*system, *placement, *ranks) = (name.into(), Placement::One, number);
            *mpi = library.map(String::from);
        }
        emulation(&Catalogues::bundled(), &place)
    }

    #[test]
    fn ranks_of_a_node_share_its_memory_and_a_library() {
        let emulated = with_ranks("kisti-2006-infiniband", Some("mvapich-0.9.4"), 2).expect("fits");
        let emulated = emulated.expect("virtual");
        assert_eq!((emulated.ranks_per_node, emulated.board.len()), (2, 2), "nodes are counted, not ranks");
        assert_eq!(emulated.memory.map(|fabric| fabric.name).as_deref(), Some("shared-memory-2005"));
        assert_eq!(emulated.mpi.map(|mpi| mpi.name).as_deref(), Some("mvapich-0.9.4"));
        let plain = with_ranks("kosmos-srio", None, 1).expect("fits").expect("virtual");
        assert_eq!((plain.ranks_per_node, plain.memory, plain.mpi), (1, None, None));
    }

    #[test]
    fn nodes_without_a_study_are_on_one_board_if_they_fit() {
        let catalogues = Catalogues::bundled();
        let boards =
            |nodes| emulated_place(&catalogues, "kosmos-srio", None, 1, nodes).expect("fits").1.board;
        assert_eq!(boards(4), [0, 0, 0, 0]);
        assert_eq!(boards(5), [0, 1, 2, 3, 4]);
        assert_eq!(boards(17)[12..], [3, 3, 3, 3, 4], "more than there are boards");
        let library = |requested| {
            let (_, emulation) =
                emulated_place(&catalogues, "kisti-2006-myrinet", requested, 2, 2).expect("fits");
            emulation.mpi.map(|mpi| mpi.name)
        };
        assert_eq!(library(None).as_deref(), Some("mpich-gm-1.2.6"), "the network's own");
        assert_eq!(library(Some("mvapich-0.9.4")).as_deref(), Some("mvapich-0.9.4"));
        assert_eq!(library(Some("none")), None);
        assert!(
            emulated_place(&catalogues, "kisti-2006-myrinet", None, 1, 5).is_err(),
            "it has one board of 4"
        );
    }

    #[test]
    fn more_ranks_than_cores_or_ranks_without_a_fabric_are_faults() {
        let fault = |system: &str, ranks| with_ranks(system, None, ranks).expect_err("refused");
        assert!(fault("kisti-2006-myrinet", 0).message.contains("at least one rank"));
        let crowded = fault("kisti-2006-myrinet", 3);
        assert_eq!(
            crowded.message,
            "3 ranks do not fit on a node of `kisti-2006-myrinet`, which has 2 cores"
        );
        assert_eq!(crowded.remedy.as_deref(), Some("take fewer ranks, or exclude the combination"));
        let apart = fault("moonshot", 2);
        assert_eq!(apart.message, "`moonshot` has no fabric between ranks of one node");
        let remedy = apart.remedy.expect("has one");
        assert!(remedy.contains("within_node") && remedy.contains("show systems/moonshot"), "{remedy}");
    }

    #[test]
    fn names_that_are_in_no_catalogue_are_faults() {
        let fault = with_ranks("kisti-2006-myrinet", Some("mpich-gm"), 1).expect_err("unknown");
        assert_eq!(fault.message, "unknown MPI profile `mpich-gm`");
        let text = include_str!("../../../systems/kisti-2006.toml");
        let mut catalogues = Catalogues::bundled();
        let text = text.replace("within_node = \"shared-memory-2005\"", "within_node = \"shared-memory\"");
        catalogues.add_system("kisti-2006", &text, "s.toml").expect("reads");
        let mut place = on(Placement::One, 2);
        if let Place::Virtual { system, .. } = &mut place {
            *system = "kisti-2006-myrinet".into();
        }
        let fault = emulation(&catalogues, &place).expect_err("unknown");
        assert_eq!(fault.message, "unknown fabric `shared-memory`");
    }

    #[test]
    fn nodes_share_a_board_or_have_one_each() {
        let catalogues = Catalogues::bundled();
        let boards = |place| emulation(&catalogues, &place).expect("fits").expect("virtual").board;
        assert_eq!(boards(on(Placement::One, 2)), [0, 0]);
        assert_eq!(boards(on(Placement::Many, 3)), [0, 1, 2]);
        assert_eq!(boards(on(Placement::Full, 6)), [0, 0, 0, 0, 1, 1]);
        let whole = boards(on(Placement::Full, 64));
        assert_eq!((whole.len(), whole[63]), (64, 15), "all of KOSMOS");
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
    fn another_disk_replaces_the_systems_own() {
        let node = |disk: Option<Disk>| {
            let mut place = on(Placement::Many, 2);
            if let Place::Virtual { disk: own, .. } = &mut place {
                *own = disk;
            }
            emulation(&Catalogues::bundled(), &place).expect("fits").expect("virtual").node
        };
        let ssd = Disk { rate: BitRate(4e9), latency: Seconds(50e-6) };
        assert_eq!(node(Some(ssd)).disk, Some(ssd));
        let own = "88 MB/s 11.9 ms".parse().expect("reads");
        assert_eq!(node(None).disk, Some(own), "that of the file");
    }

    #[test]
    fn more_nodes_than_there_are_is_a_fault() {
        let catalogues = Catalogues::bundled();
        for (place, why, remedy) in [
            (on(Placement::One, 5), "holds 4", "boards = \"many\""),
            (on(Placement::Many, 17), "has 16 boards", "boards = \"full\""),
            (on(Placement::Many, 65), "has 16 boards", "fewer nodes"),
            (on(Placement::Full, 65), "has 64 nodes", "fewer nodes"),
        ] {
            let fault = emulation(&catalogues, &place).expect_err("does not fit");
            assert!(fault.message.contains(why), "{fault}");
            assert!(fault.remedy.as_deref().is_some_and(|text| text.contains(remedy)), "{fault}");
        }
    }

    #[test]
    fn nothing_is_emulated_in_real_time() {
        let place = Place::Real { fabric: "none".into(), link: Link::Unshaped, scale: 1.0, nodes: 2 };
        assert_eq!(emulation(&Catalogues::new(), &place), Ok(None));
    }
}
