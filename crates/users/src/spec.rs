//! The parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::{Params, parameter_fault};

use crate::isolation::{Isolation, Memory};
use crate::population::{self, MOST_USERS, Population};

/// The parameters of the workload `users`.
pub const PARAMETERS: Parameters = Parameters(&[
    population::PARAMETERS,
    &[
        Parameter::new("groups", "1", "number of groups that the users are dealt to"),
        Parameter::new(
            "isolation",
            "none",
            "how groups are kept apart: `none`, `drivers`, `folders`, `mounts`, `cpu`, `lru`, `limits`, `protection`, `group`, `docker`",
        ),
        Parameter::new("streamers_apart", "false", "whether users who stream have a group of their own"),
        Parameter::new(
            "waits",
            "false",
            "whether the kernel's tracepoints count what groups wait for: reclaim and locks",
        ),
    ],
]);

/// What the users of an attempt do, and how they are kept apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub(crate) population: Population,
    pub(crate) groups: usize,
    pub(crate) isolation: &'static Isolation,
    /// Whether those who stream have a group of their own.
    pub(crate) streamers_apart: bool,
    /// Whether waits inside the kernel are counted.
    pub(crate) waits: bool,
}

impl Spec {
    /// Reads the parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn read(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let isolation = Isolation::named(params.text("isolation", "none")?)?;
        let groups = params.bounded("groups", 1, 1, MOST_USERS)? as usize;
        let population = Population::read(params)?;
        let users = population.users();
        if groups > users {
            let message = format!("expected at most as many groups as users ({users}), found {groups}");
            return Err(parameter_fault("groups", message));
        }
        let limited = matches!(isolation.memory, Memory::Limited | Memory::Protected);
        if limited && population.machine.memory.is_none() {
            let message =
                format!("expected a size, of which `{}` gives each group its share", isolation.name);
            return Err(parameter_fault("memory", message));
        }
        // Users who are together are one group, however many they would be.
        let groups = if isolation.drivers { groups } else { 1 };
        let streamers_apart = params.flag("streamers_apart", false)?;
        let waits = params.flag("waits", false)?;
        Ok(Spec { population, groups, isolation, streamers_apart, waits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Value;

    fn reread() -> Params {
        Params::default().with("mix", "reread").with("memory", "512 MiB")
    }

    #[test]
    fn users_who_are_together_are_one_group() {
        let read = |isolation: &str| {
            Spec::read(&reread().with("isolation", isolation).with("groups", 8)).map(|spec| spec.groups)
        };
        assert_eq!(read("none"), Ok(1));
        assert_eq!(read("lru"), Ok(8));
    }

    #[test]
    fn faults_name_the_parameter() {
        let cases: [(&str, Value); 9] = [
            ("groups", 17.into()),
            ("groups", 0.into()),
            ("users", 0.into()),
            ("isolation", "limit".into()),
            ("memory", "none".into()),
            ("streamers", 16.into()),
            ("working_set", 0.into()),
            ("work", 0.into()),
            ("task", 1.into()),
        ];
        for (name, value) in cases {
            let fault = Spec::read(&reread().with(name, value)).expect_err("refused");
            assert!(fault.to_string().contains(name), "{name}: {fault}");
        }
        assert!(Spec::read(&Params::default().with("mix", "no such mix")).is_err());
    }
}
