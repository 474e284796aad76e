//! What a client has given so far: the processor time of each task, as the client says
//! while it has it, and as its project was told once it is gone.

use std::collections::BTreeMap;

use crosstalk_tenancy::boinc::Task;

use super::project::Ended;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Donated(BTreeMap<String, f64>);

impl Donated {
    /// What the client says now.
    pub fn look(&mut self, tasks: &[Task]) {
        for task in tasks {
            let seen = self.0.entry(task.name.clone()).or_default();
            *seen = seen.max(task.cpu());
        }
    }

    /// What the project was told: that is final.
    pub fn ended(&mut self, ended: Vec<Ended>) {
        self.0.extend(ended.into_iter().map(|ended| (ended.name, ended.cpu)));
    }

    /// Processor seconds, in all.
    pub fn total(&self) -> f64 {
        self.0.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_tenancy::boinc::Active;

    fn task(name: &str, cpu: f64) -> Task {
        let active = Active { cpu, ..Active::default() };
        Task { name: name.into(), active: Some(active), ..Task::default() }
    }

    #[test]
    fn a_task_counts_once_while_it_runs_and_after() {
        let mut donated = Donated::default();
        donated.look(&[task("a", 1.0), task("b", 2.0)]);
        donated.look(&[task("a", 3.0)]);
        assert_eq!(donated.total(), 5.0);
        donated.ended(vec![Ended { name: "b".into(), cpu: 2.5 }]);
        assert_eq!(donated.total(), 5.5);
        // A restarted task tells less than before until it is where it was.
        donated.look(&[task("a", 1.0)]);
        assert_eq!(donated.total(), 5.5);
    }
}
