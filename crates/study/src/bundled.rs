//! The repository's data files, carried inside the program.

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
    file!("fabrics/ethernet-2.5g.toml"),
    file!("fabrics/ethernet-10g.toml"),
    file!("fabrics/kosmos-ethernet.toml"),
    file!("fabrics/srio.toml"),
];
const SYSTEMS: &[File] =
    &[file!("systems/kosmos.toml"), file!("systems/microblade.toml"), file!("systems/moonshot.toml")];
const PUBLISHED: &[File] = &[file!("published/published.csv")];

/// The bundled studies: name → text.
const STUDIES: &[File] = &[
    ("kosmos", include_str!("../../../studies/kosmos.toml")),
    ("engines", include_str!("../../../studies/engines.toml")),
    ("analytics", include_str!("../../../studies/analytics.toml")),
];

/// Reads the bundled catalogues.
pub(crate) fn catalogues() -> Result<Catalogues, Fault> {
    let mut catalogues = Catalogues::new();
    for (path, text) in FABRICS {
        catalogues.fabric(path, text, path)?;
    }
    for (path, text) in SYSTEMS {
        catalogues.system(path, text, path)?;
    }
    for (path, text) in PUBLISHED {
        catalogues.published_csv(text, path)?;
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

/// The bundled fabrics and systems: path in the repository and text, to show and to copy.
pub fn bundled_catalogue_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FABRICS.iter().chain(SYSTEMS).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_file_reads_and_every_name_in_it_is_known() {
        let catalogues = catalogues().expect("reads");
        for (_, system, network) in catalogues.named_systems() {
            for fabric in [&network.within, &network.across] {
                catalogues.find_fabric(fabric).unwrap_or_else(|fault| panic!("{}: {fault}", system.name));
            }
        }
        assert!(catalogues.find_system("kosmos-srio").is_ok());
        assert!(catalogues.find_system("microblade").is_ok());
    }

    #[test]
    fn every_number_of_a_bundled_fabric_or_system_has_its_source() {
        let catalogues = catalogues().expect("reads");
        for fabric in catalogues.fabrics() {
            let mut wanted = vec!["rate", "L", "o", "g", "G", "O"];
            wanted.extend((!fabric.step.is_empty()).then_some("step"));
            for what in wanted {
                assert!(fabric.source.contains_key(what), "{}: {what} has no source", fabric.name);
            }
        }
        for system in catalogues.systems() {
            for what in ["cpu", "cores", "clock", "speed", "memory", "boards", "network"] {
                assert!(system.source.contains_key(what), "{}: {what} has no source", system.name);
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
