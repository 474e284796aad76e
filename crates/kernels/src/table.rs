//! All kernels, by name.

use crosstalk_core::Fault;
use crosstalk_core::name::unknown;

use crate::kernel::Kernel;
use crate::{bt, cg, ep, ft, is, lu, mg, sp};

/// All kernels.
pub const KERNELS: [Kernel; 8] =
    [ep::KERNEL, is::KERNEL, cg::KERNEL, mg::KERNEL, ft::KERNEL, lu::KERNEL, sp::KERNEL, bt::KERNEL];

/// The kernel of that name, in either case.
///
/// # Errors
/// A usage fault where there is none.
pub fn find(name: &str) -> Result<Kernel, Fault> {
    let found = KERNELS.into_iter().find(|kernel| kernel.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| unknown("kernel", name, KERNELS.map(|kernel| kernel.name)).of_parameter("kernel"))
}
