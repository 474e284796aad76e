//! Which kernel, and how large: the parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::human;
use crosstalk_core::value::Params;
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

use crate::class::Class;
use crate::kernel::Kernel;
use crate::table::find;

/// The parameters of the workload `npb`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "kernel",
        "ep",
        "`ep` on any number of ranks; `is`, `cg`, `mg`, `ft` or `lu` on 1, 2, 4, 8 …; `sp` or `bt` on 1, 4, 9, 16 …",
    ),
    Parameter::new(
        "class",
        "S",
        "the size of the problem: `S`, `W`, `A`, `B` or `C`; S is mostly too short to be timed in virtual time",
    ),
    Parameter::new("nodes", "1", "number of nodes"),
    RECORD,
    REPLAY,
]]);

/// A kernel of a class, on so many nodes.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The kernel.
    pub kernel: Kernel,
    /// Its class.
    pub class: Class,
    /// Nodes.
    pub nodes: usize,
}

impl PartialEq for Spec {
    fn eq(&self, other: &Self) -> bool {
        (self.kernel.name, self.class, self.nodes) == (other.kernel.name, other.class, other.nodes)
    }
}

impl Spec {
    /// Reads and checks the workload's parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        Ok(Spec {
            kernel: find(params.text("kernel", "ep")?)?,
            class: Class::from_letter(params.text("class", "S")?)?,
            nodes: params.bounded("nodes", 1, 1, 4096)? as usize,
        })
    }
    /// Refuses a class that does not fit.
    ///
    /// # Errors
    /// A usage fault that says how much it needs, and the largest class that fits.
    pub fn check_memory(&self, available: f64, whose: &str) -> Result<(), Fault> {
        let needed = self.kernel.memory;
        if needed(self.class) <= available {
            return Ok(());
        }
        let most = Class::ALL.into_iter().rev().find(|class| needed(*class) <= available);
        Err(Fault::usage(format!(
            "`{}` of class {} needs {}, and {whose} has {}",
            self.kernel.name,
            self.class.letter(),
            human(needed(self.class), "B"),
            human(available, "B")
        ))
        .of_parameter("class")
        .remedy(match most {
            Some(class) => format!("take at most class {}, or more nodes", class.letter()),
            None => "take more nodes".into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::KERNELS;

    #[test]
    fn too_large_a_class_is_refused_with_the_largest_that_fits() {
        let spec =
            Spec::from_params(&Params::default().with("kernel", "ft").with("class", "C")).expect("reads");
        let refused = spec.check_memory(3e9, "a node").expect_err("does not fit").to_string();
        assert!(refused.contains("needs 6 GiB") && refused.contains("at most class B"), "{refused}");
        for kernel in KERNELS {
            for class in Class::ALL {
                let spec = Spec { kernel, class, nodes: 1 };
                assert_eq!(spec.check_memory((kernel.memory)(class), "a node"), Ok(()));
                let refused =
                    spec.check_memory((kernel.memory)(class) - 1.0, "a node").expect_err("is too large");
                assert!(refused.remedy.is_some(), "{refused}");
            }
        }
    }
}
