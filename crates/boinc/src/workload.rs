//! The workload's declaration.

use crosstalk_core::record::{Better, Metric};
use crosstalk_core::scene::{Deployment, Effort, Timing};
use crosstalk_work::{Declared, Lasting};

use crate::client_process::client_need;
use crate::node;
use crate::spec::{PARAMETERS, Spec};

/// The workload `boinc`: background work of a BOINC client with a project of its own.
pub const BOINC: Lasting<Spec> = Lasting(Declared {
    name: "boinc",
    title: "Background work: a BOINC client, attached to a project on this machine",
    parameters: PARAMETERS,
    read: Spec::from_params,
    deploy: |spec| {
        let metrics = vec![
            Metric::new("donated", "cores", Better::Higher),
            Metric::new("tasks_running", "tasks", Better::Neither),
            Metric::new("tasks_finished", "tasks", Better::Neither),
            Metric::new("tasks_failed", "tasks", Better::Neither),
            Metric::new("start_time", "s", Better::Neither),
        ];
        // Measured: starting the project, and `start_time`, which is the same for one task and for a hundred.
        let effort = Effort::waiting(if spec.ncpus == 0 { 0.0 } else { 7.0 });
        Deployment { nodes: 1, timing: Timing::Real, metrics, effort }
    },
    needs: |spec| if spec.ncpus == 0 { Vec::new() } else { vec![client_need()] },
    prepare: node::prepare,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::scene::Workload;
    use crosstalk_core::units::Seconds;
    use crosstalk_core::value::{Params, Value};

    #[test]
    fn parameters_are_read_and_checked() {
        let params = Params::default().with("ncpus", 50).with("task", "5 s");
        assert_eq!(Spec::from_params(&params).map(|spec| (spec.ncpus, spec.task)), Ok((50, Seconds(5.0))));
        assert_eq!(BOINC.deploy(&params).expect("is fine").metrics[0].name, "donated");
        let share = |settings: &str| Spec::from_params(&params.clone().with("settings", settings));
        assert_eq!(share("time 50%").map(|spec| spec.share.time), Ok(0.5));
        assert!(
            Spec::from_params(&Params::default().with("ncpus", "twice")).is_ok_and(|spec| spec.ncpus >= 2)
        );
        let cases: [(&str, Value); 6] = [
            ("settings", "half".into()),
            ("task", "2 h".into()),
            ("ncpus", 2000.into()),
            ("task", "0 s".into()),
            ("duration", "5 s".into()),
            ("cpus", 1.into()),
        ];
        for (name, value) in cases {
            let fault = Spec::from_params(&Params::default().with(name, value)).expect_err("refused");
            assert!(fault.to_string().contains(name), "{fault}");
        }
    }

    #[test]
    fn no_background_work_needs_no_client() {
        let none = Params::default().with("ncpus", 0);
        assert!(BOINC.needs(&none).is_empty());
        assert_eq!(BOINC.deploy(&none).expect("is fine").effort, Effort::default());
        assert_eq!(BOINC.needs(&Params::default().with("ncpus", 1)).len(), 1);
        assert!(BOINC.runs_until_stopped());
    }
}
