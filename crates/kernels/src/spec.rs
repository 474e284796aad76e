//! Which kernel, and how large: the parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::value::Params;
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;

use crate::class::Class;
use crate::kernel::Kernel;
use crate::table::find;

/// The parameters of the workload `npb`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new("kernel", "ep", "`ep`, `is`, `cg`, `mg`, `ft`, `lu`, `sp` or `bt`"),
    Parameter::new("class", "S", "the size of the problem: `S`, `W`, `A`, `B` or `C`"),
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
}
