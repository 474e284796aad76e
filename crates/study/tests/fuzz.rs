//! No text makes parsing or planning panic.

mod mock;

use crosstalk_study::{Catalogues, PlanOptions, parse, plan, setting, to_toml};
use proptest::prelude::*;

const STUDIES: [&str; 5] = [
    include_str!("../../../studies/kosmos.toml"),
    include_str!("../../../studies/latency.toml"),
    include_str!("fixtures/groups.toml"),
    include_str!("fixtures/infiniband.toml"),
    include_str!("fixtures/volunteer.toml"),
];

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
        let _ = catalogues.fabric("f", &text, "f.toml");
        let _ = catalogues.system("s", &text, "s.toml");
        let _ = catalogues.published_csv(&text, "p.csv");
        let _ = setting(&text);
    }

    #[test]
    fn deep_nesting_is_a_fault(depth in 1usize..5000) {
        let text = format!("schema = \"crosstalk.study/1\"\nlooks = {}", "[".repeat(depth));
        prop_assert!(parse(&text, "my.toml").is_err());
    }
}
