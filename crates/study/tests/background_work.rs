//! Plans of background work, which lasts until other work has ended.

use crate::mock;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, parse, plan};

fn planned(work: &str) -> Result<Plan, Fault> {
    let text =
        format!("schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nfactors = {{}}\n{work}\n");
    plan(&parse(&text, "f.toml")?, &mock::catalogues(), &mock::registry(), &PlanOptions::default())
}

const FOREGROUND: &str = "work.foreground = { kind = \"primes\", threads = 1 }";

#[test]
fn background_work_begins_first_and_ends_last() {
    for start in ["", ", start = \"steady before foreground\""] {
        let plan =
            planned(&format!("{FOREGROUND}\nwork.background = {{ kind = \"boinc\", ncpus = 2{start} }}"))
                .expect("plans");
        let work = &plan.experiments[0].cells[0].scene.work;
        assert_eq!((work["foreground"].lasts, work["background"].lasts), (false, true));
        assert_eq!((work["foreground"].nodes, work["background"].nodes), (1, 1));
        assert!(work["background"].params.get("start").is_none(), "it is no parameter");
    }
}

#[test]
fn impossible_background_work_is_refused_at_its_line() {
    for (work, says) in [
        ("work.background = { kind = \"boinc\", ncpus = 2 }".to_string(), "there is none"),
        (
            format!(
                "{FOREGROUND}\nwork.background = {{ kind = \"boinc\", start = \"steady before foregroud\" }}"
            ),
            "foregroud",
        ),
        (
            format!("{FOREGROUND}\nwork.background = {{ kind = \"boinc\", start = \"at noon\" }}"),
            "steady before NAME",
        ),
        (
            "work.foreground = { kind = \"primes\", start = \"steady before x\" }".to_string(),
            "ends by itself",
        ),
    ] {
        let fault = planned(&work).expect_err(&work);
        assert_eq!(fault.kind, FaultKind::Usage);
        assert!(fault.to_string().contains(says), "{work}: {fault}");
        assert!(
            fault.place.as_deref().is_some_and(|place| place.starts_with("f.toml:")),
            "{work}: {fault:?}"
        );
    }
}
