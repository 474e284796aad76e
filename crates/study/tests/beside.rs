//! Work that lasts, beside work that ends: what of it can be planned.

use crate::mock;
use crosstalk_core::{Fault, FaultKind};
use crosstalk_study::plan::Plan;
use crosstalk_study::{PlanOptions, parse, plan};

fn planned(work: &str) -> Result<Plan, Fault> {
    let text =
        format!("schema = \"crosstalk.study/1\"\ntitle = \"t\"\n[experiment.e]\nfactors = {{}}\n{work}\n");
    plan(&parse(&text, "f.toml")?, &mock::catalogues(), &mock::registry(), &PlanOptions::default())
}

const OWN: &str = "work.own = { kind = \"primes\", threads = 1 }";

#[test]
fn what_lasts_begins_before_the_rest_and_ends_after_it() {
    for start in ["", ", start = \"steady before own\""] {
        let plan = planned(&format!("{OWN}\nwork.external = {{ kind = \"boinc\", ncpus = 2{start} }}"))
            .expect("plans");
        let work = &plan.experiments[0].cells[0].scene.work;
        assert_eq!((work["own"].lasts, work["external"].lasts), (false, true));
        assert_eq!((work["own"].nodes, work["external"].nodes), (1, 1));
        assert!(work["external"].params.get("start").is_none(), "it is no parameter");
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_line() {
    for (work, says) in [
        ("work.external = { kind = \"boinc\", ncpus = 2 }".to_string(), "there is none"),
        (format!("{OWN}\nwork.external = {{ kind = \"boinc\", start = \"steady before owm\" }}"), "owm"),
        (format!("{OWN}\nwork.external = {{ kind = \"boinc\", start = \"at noon\" }}"), "steady before NAME"),
        ("work.own = { kind = \"primes\", start = \"steady before x\" }".to_string(), "ends by itself"),
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
