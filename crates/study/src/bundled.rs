//! The repository's data files that are compiled into the program.

use crate::catalogue::Catalogues;
use crosstalk_core::Fault;

/// A data file: its path in the repository and its text.
type File = (&'static str, &'static str);

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../", $path)))
    };
}

const FABRICS: &[File] = &[
    file!("fabrics/ethernet-1g.toml"),
    file!("fabrics/ethernet-1g-2005.toml"),
    file!("fabrics/ethernet-2.5g.toml"),
    file!("fabrics/ethernet-10g.toml"),
    file!("fabrics/infiniband-4x-sdr.toml"),
    file!("fabrics/kosmos-ethernet.toml"),
    file!("fabrics/myrinet-2000.toml"),
    file!("fabrics/rdma-25g.toml"),
    file!("fabrics/rdma-100g.toml"),
    file!("fabrics/rdma-400g.toml"),
    file!("fabrics/shared-memory-2005.toml"),
    file!("fabrics/srio.toml"),
];
const SYSTEMS: &[File] = &[
    file!("systems/kisti-2006.toml"),
    file!("systems/kisti-2006-dense.toml"),
    file!("systems/kisti-2006-sixteen.toml"),
    file!("systems/kosmos.toml"),
    file!("systems/microblade.toml"),
    file!("systems/moonshot.toml"),
    file!("systems/this-machine.toml"),
];
const MPI: &[File] =
    &[file!("mpi/mpich-1.2.6.toml"), file!("mpi/mpich-gm-1.2.6.toml"), file!("mpi/mvapich-0.9.4.toml")];
const COMPONENTS: &[File] = &[
    file!("components/dpdk.toml"),
    file!("components/lines.toml"),
    file!("components/server.toml"),
    file!("components/switches.toml"),
];
const INTERCONNECTS: &[File] = &[
    file!("interconnects/ethernet-10g.toml"),
    file!("interconnects/ethernet-10g-dpdk.toml"),
    file!("interconnects/infiniband-fdr-x4.toml"),
    file!("interconnects/pcie-3.0-x16.toml"),
    file!("interconnects/pcie-fabric.toml"),
    file!("interconnects/qpi.toml"),
    file!("interconnects/tia-942-ethernet.toml"),
    file!("interconnects/tia-942-infiniband.toml"),
];
const PUBLISHED: &[File] = &[file!("published/published.csv")];

/// The bundled studies: name → text.
const STUDIES: &[File] = &[
    ("kosmos", include_str!("../../../studies/kosmos.toml")),
    ("latency", include_str!("../../../studies/latency.toml")),
    ("engines", include_str!("../../../studies/engines.toml")),
    ("analytics", include_str!("../../../studies/analytics.toml")),
    ("groups", include_str!("../../../studies/groups.toml")),
    ("infiniband", include_str!("../../../studies/infiniband.toml")),
    ("volunteer", include_str!("../../../studies/volunteer.toml")),
];

impl Catalogues {
    /// The bundled catalogues: `fabrics/`, `systems/`, `mpi/`, `components/`, `interconnects/` and `published/` of the
    /// repository.
    pub fn bundled() -> Self {
        catalogues().expect("the bundled files are read by a test")
    }
}

/// Reads the bundled catalogues.
fn catalogues() -> Result<Catalogues, Fault> {
    let mut catalogues = Catalogues::new();
    for (path, text) in FABRICS {
        catalogues.add_fabric(path, text, path)?;
    }
    for (path, text) in SYSTEMS {
        catalogues.add_system(path, text, path)?;
    }
    for (path, text) in MPI {
        catalogues.add_mpi(path, text, path)?;
    }
    for (path, text) in COMPONENTS {
        catalogues.add_components(text, path)?;
    }
    for (path, text) in INTERCONNECTS {
        catalogues.add_interconnect(path, text, path)?;
    }
    for (path, text) in PUBLISHED {
        catalogues.add_published_csv(text, path)?;
    }
    Ok(catalogues)
}

/// The text of the bundled study of that name.
pub fn bundled_study(name: &str) -> Option<&'static str> {
    STUDIES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The bundled studies: name and text.
pub fn bundled_studies() -> &'static [(&'static str, &'static str)] {
    STUDIES
}

/// The bundled fabrics, systems, MPI profiles and interconnects: path in the repository and text, to show and to copy.
pub fn bundled_catalogue_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FABRICS.iter().chain(SYSTEMS).chain(MPI).chain(INTERCONNECTS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_file_reads_and_every_name_in_it_is_known() {
        let catalogues = catalogues().expect("reads");
        for (_, system, network) in catalogues.named_systems() {
            for fabric in [&network.within, &network.across].into_iter().chain(&system.within_node) {
                catalogues.find_fabric(fabric).unwrap_or_else(|fault| panic!("{}: {fault}", system.name));
            }
        }
        assert!(catalogues.find_system("kosmos-srio").is_ok());
        assert!(catalogues.find_system("microblade").is_ok());
    }

    #[test]
    fn every_bundled_interconnect_leads_through_known_components_to_known_figures() {
        let catalogues = catalogues().expect("reads");
        for interconnect in catalogues.interconnects() {
            let name = &interconnect.name;
            catalogues.components_along(&interconnect.path).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            if let Some(id) = &interconnect.published {
                assert!(catalogues.published_range(id).is_some(), "{name}: nothing is published as {id}");
            }
        }
    }

    #[test]
    fn every_component_of_the_publication_is_as_it_published_it() {
        let catalogues = catalogues().expect("reads");
        for (name, component) in catalogues.all_components() {
            let text = &component.source.text;
            let (_, id) =
                text.rsplit_once("published as ").unwrap_or_else(|| panic!("{name} names no figure"));
            let (low, high) =
                catalogues.published_range(id).unwrap_or_else(|| panic!("{name}: nothing is {id}"));
            assert!((component.low.0 - low).abs() < 1e-15, "{name}: {low} is published");
            let open = component.high.is_none();
            assert!(
                open || high.is_some_and(|high| (component.high.map_or(0.0, |s| s.0) - high).abs() < 1e-15),
                "{name}"
            );
        }
    }

    #[test]
    fn every_number_of_a_bundled_fabric_system_or_mpi_profile_has_its_source() {
        let catalogues = catalogues().expect("reads");
        for fabric in catalogues.fabrics() {
            let mut wanted = vec!["rate", "L", "o", "g", "G", "O"];
            wanted.extend((!fabric.step.is_empty()).then_some("step"));
            for what in wanted {
                assert!(fabric.source.contains_key(what), "{}: {what} has no source", fabric.name);
            }
        }
        for system in catalogues.systems() {
            let mut wanted = vec!["cpu", "cores", "clock", "speed", "memory", "boards", "network"];
            wanted.extend(system.within_node.as_ref().map(|_| "within_node"));
            for what in wanted {
                assert!(system.source.contains_key(what), "{}: {what} has no source", system.name);
            }
        }
        for mpi in catalogues.mpi_profiles() {
            for what in ["eager_limit", "overhead", "eager_copy", "rendezvous", "collective"] {
                assert!(mpi.source.contains_key(what), "{}: {what} has no source", mpi.name);
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let catalogues = catalogues().expect("reads");
        let fault = catalogues.find_system("kosmos-sri").expect_err("unknown");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `kosmos-srio`?"));
        let fault = catalogues.find_fabric("ethernet-2g").expect_err("unknown");
        assert!(fault.remedy.expect("a remedy").contains("did you mean"));
    }
}
