//! No text makes parsing or planning panic.

use crate::mock;
use crosstalk_core::interconnect::Hop;
use crosstalk_study::{Catalogues, PlanOptions, parse, parse_setting, plan, to_toml};
use proptest::prelude::*;

const STUDIES: [&str; 5] = [
    include_str!("../../../studies/kosmos.toml"),
    include_str!("../../../studies/latency.toml"),
    include_str!("fixtures/groups.toml"),
    include_str!("fixtures/infiniband.toml"),
    include_str!("fixtures/volunteer.toml"),
];

const COMPONENTS: &str = include_str!("../../../components/server.toml");
const INTERCONNECT: &str = include_str!("../../../interconnects/tia-942-ethernet.toml");

/// `text` with `replaced` characters from `at` on replaced by `by`.
fn spoilt(text: &str, at: usize, replaced: usize, by: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = at % chars.len();
    let end = (at + replaced).min(chars.len());
    chars[..at].iter().collect::<String>() + by + &chars[end..].iter().collect::<String>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_spoilt_study_is_a_fault_or_a_study(
        which in 0usize..5, at: usize, replaced in 0usize..12, by in "[a-z0-9\"'$.={}\\[\\],\n -]{0,8}",
    ) {
        let text = spoilt(STUDIES[which], at, replaced, &by);
        match parse(&text, "my.toml") {
            Err(fault) => prop_assert!(fault.place.is_some_and(|place| place.starts_with("my.toml")), "{}", fault.message),
            Ok(study) => {
                let _ = plan(&study, &mock::catalogues(), &mock::registry(), &PlanOptions::default());
                prop_assert_eq!(parse(&to_toml(&study), "again.toml").expect("reads again"), study);
            }
        }
    }

    #[test]
    fn any_text_is_a_fault(text in "\\PC{0,200}") {
        prop_assert!(parse(&text, "my.toml").is_err());
        let mut catalogues = Catalogues::new();
        let _ = catalogues.add_fabric("f", &text, "f.toml");
        let _ = catalogues.add_system("s", &text, "s.toml");
        let _ = catalogues.add_mpi("m", &text, "m.toml");
        let _ = catalogues.add_published_csv(&text, "p.csv");
        let _ = catalogues.add_components(&text, "c.toml");
        let _ = catalogues.add_interconnect("i", &text, "i.toml");
        let _ = parse_setting(&text);
        let _ = text.parse::<Hop>();
    }

    #[test]
    fn a_spoilt_component_or_path_is_a_fault_or_makes_sense(
        of_components: bool, at: usize, replaced in 0usize..12, by in "[a-z0-9\"'$.={}\\[\\],\n -]{0,8}",
    ) {
        let mut catalogues = Catalogues::bundled();
        let (components, path) = (COMPONENTS, INTERCONNECT);
        let read = if of_components {
            catalogues.add_components(&spoilt(components, at, replaced, &by), "c.toml")
        } else {
            catalogues.add_interconnect("mine", &spoilt(path, at, replaced, &by), "i.toml")
        };
        match read {
            Err(fault) => prop_assert!(fault.place.is_some(), "{}", fault.message),
            // The times that it then gives can be added up.
            Ok(()) => for interconnect in catalogues.interconnects() {
                for (hop, component) in catalogues.components_along(&interconnect.path).unwrap_or_default() {
                    prop_assert!(hop.length.is_none_or(|metres| metres >= 0.0));
                    prop_assert!(component.low.0 >= 0.0 && component.high.is_none_or(|high| high.0 >= component.low.0));
                }
            }
        }
    }

    #[test]
    fn a_hop_reads_as_it_is_written(component in "[a-z][a-z0-9-]{0,20}", metres in prop::option::of(0.0f64..1e6)) {
        let hop = Hop { component, length: metres };
        prop_assert_eq!(hop.to_string().parse::<Hop>().expect("reads"), hop);
    }

    #[test]
    fn deep_nesting_is_a_fault(depth in 1usize..5000) {
        let text = format!("schema = \"crosstalk.study/1\"\nlooks = {}", "[".repeat(depth));
        prop_assert!(parse(&text, "my.toml").is_err());
    }
}
