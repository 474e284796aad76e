//! Every parameter is explained, by `crosstalk show` and in the reference.

use super::registry;
use std::fs;
use std::path::Path;

#[test]
fn every_parameter_has_a_meaning_and_a_unique_name() {
    for workload in registry().workloads {
        let parameters = workload.parameters();
        for parameter in parameters.iter() {
            let name = format!("{}.{}", workload.name(), parameter.name);
            assert!(!parameter.meaning.is_empty(), "{name} has no meaning");
            let others = parameters.names().filter(|other| *other == parameter.name).count();
            assert_eq!(others, 1, "{name} is declared {others} times");
        }
    }
}

#[test]
fn the_reference_of_a_workload_names_every_parameter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/workloads");
    for workload in registry().workloads {
        let file = format!("{}.md", workload.name());
        let text = fs::read_to_string(folder.join(&file)).expect("`crosstalk docs docs/reference` writes it");
        for name in workload.parameters().names() {
            assert!(text.contains(&format!("| `{name}` |")), "{file} does not name `{name}`");
        }
    }
}
