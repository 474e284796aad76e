//! LU against the official norms and the surface integral.

use crate::common::verified_by_both_clocks;
use crosstalk_kernels::Class;

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("lu", Class::S, &[1, 2, 4]);
}
