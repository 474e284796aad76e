//! The workload and its parameters.

use crosstalk_core::Fault;
use crosstalk_core::message::Part;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Effort, Prepared, Timing};

use super::mix::Mix;
use super::run::Burner;
use super::spec::Spec;
use crosstalk_work::{Declared, Lasting, prepare_alone, threads};

const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "threads",
        "1",
        "a number (0: no work), or `quarter`, `half`, `all`, `twice`, `four times` the processors",
    ),
    Parameter::new("mix", "cpu", "the resource: `cpu`, `cache`, `memory`, `disk` or `network`"),
    Parameter::new("priority", "lowest", "`lowest` (nice 19, as BOINC runs its tasks) or `normal`"),
]]);

/// The workload `burner`: background work that keeps one resource busy until it is stopped.
pub const BURNER: Lasting<Spec> = Lasting(Declared {
    name: "burner",
    title: "Background work: threads that use as much of one resource as they get",
    parameters: PARAMETERS,
    read: |params| {
        params.refuse_unknown(PARAMETERS)?;
        let mix = params.choice("mix", &Mix::ALL.map(Mix::name))?;
        Ok(Spec {
            threads: threads(params, "threads", 0)?,
            mix: Mix::ALL.into_iter().find(|known| known.name() == mix).unwrap_or(Mix::Cpu),
            lowest: params.choice("priority", &["lowest", "normal"])? == "lowest",
        })
    },
    deploy: |_| Deployment {
        nodes: 1,
        timing: Timing::Real,
        metrics: vec![
            Metric::new("donated", "cores", Better::Higher),
            Metric::new("donated_rounds", "/s", Better::Higher),
        ],
        effort: Effort::waiting(0.3),
    },
    needs: |_| vec![Need::found("processors", "this machine's")],
    prepare: |spec, part: &Part| -> Result<Box<dyn Prepared>, Fault> {
        let burner = Burner { spec, scratch: part.scratch.clone() };
        Ok(prepare_alone(|out, cancelled| burner.burn(out, cancelled)))
    },
});

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::value::Params;

    #[test]
    fn one_thread_computes_at_the_lowest_priority_by_default() {
        let spec = (BURNER.0.read)(&Params::default()).expect("is valid");
        assert_eq!((spec.threads, spec.mix, spec.lowest), (1, Mix::Cpu, true));
        assert!(BURNER.runs_until_stopped());
    }
}
