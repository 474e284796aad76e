//! A run with a system or network of its own under a bundled name says so.

use crate::mock;
use crate::synthetic::planned_study;
use crosstalk_study::catalogue::Catalogues;
use crosstalk_study::{analyse, bundled_catalogue_files};

const STUDY: &str = r#"
    schema = "crosstalk.study/1"
    title = "What a network is worth"
    looks = [12]
    [experiment.e]
    work.s = { kind = "stream", size = 64 }
    conditions = { system = "$system" }
    factors = { system = ["kosmos-srio", "kosmos-ethernet"] }
"#;

/// The remarks about replaced entries, of a run with these catalogues.
fn remarks(catalogues: &Catalogues) -> Vec<String> {
    let planned = planned_study(STUDY);
    let run = planned.run(12, 0.001, 1, &|_, _, _| 1.0);
    let findings = analyse(&planned.study, catalogues, &planned.plan, &run);
    findings.warnings.into_iter().filter(|text| text.contains("bundled")).collect()
}

/// The bundled file of a system, with a change.
fn changed(from: &str, to: &str) -> Catalogues {
    let (_, text) =
        bundled_catalogue_files().find(|(path, _)| path.ends_with("systems/kosmos.toml")).expect("is there");
    assert!(text.contains(from), "nothing would be changed");
    let mut catalogues = mock::catalogues();
    catalogues.add_system("kosmos", &text.replace(from, to), "kosmos.toml").expect("is a system");
    catalogues
}

#[test]
fn bundled_clusters_need_no_remark() {
    assert_eq!(remarks(&mock::catalogues()), Vec::<String>::new());
    assert_eq!(remarks(&changed("As published", "As assumed")), Vec::<String>::new(), "a text is no number");
}

#[test]
fn a_number_of_its_own_is_named_beside_the_bundled_one() {
    let remarks = remarks(&changed("speed = 0.15", "speed = 0.2"));
    let [remark] = &remarks[..] else { panic!("expected one, found {remarks:?}") };
    assert!(remark.contains("systems/kosmos.toml has node.speed = 0.2 (bundled: 0.15);"), "{remark}");
}
