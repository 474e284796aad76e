//! MG against the official norms, and its messages.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_core::mpi::Operation;
use crosstalk_kernels::Class;

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("mg", Class::S, &[1, 2, 4]);
}

#[test]
fn class_s_verifies_where_coarse_levels_leave_ranks_without_points() {
    verified("mg", Class::S, 16, Clock::Real);
}

#[test]
fn class_w_verifies() {
    verified("mg", Class::W, 1, Clock::Real);
}

/// Faces that four ranks send, which are in a row of two along y and z each: along x without ghosts, along y with
/// those of x, and along z with both. Sent are six in each of so many exchanges by level.
#[test]
fn messages_are_the_faces_of_all_levels() {
    let (depth, iterations) = (5, 4);
    let mut expected = Counted::default();
    for level in 1..=depth {
        let [nx, ny, nz] = [1 << level, 1 << (level - 1), 1 << (level - 1)];
        let faces = ny * nz + (nx + 2) * nz + (nx + 2) * (ny + 2);
        let exchanges = match level {
            // The smoother, and the restriction to it.
            1 => 2 * iterations,
            // The residual before the first cycle. In each cycle two, and the smoother.
            _ if level == depth => 3 * iterations + 1,
            _ => 3 * iterations,
        };
        expected.calls += 6 * exchanges;
        expected.bytes += 2 * faces * 8 * exchanges;
    }
    for rank in verified("mg", Class::S, 4, Clock::Virtual) {
        assert_eq!(rank.traffic.messages, expected);
        // The sum of squares and the largest amount, before and after.
        assert_eq!(rank.traffic.collectives[&Operation::Allreduce], Counted { calls: 4, bytes: 32 });
        assert_eq!(rank.traffic.collectives.len(), 1);
        rank.checks.iter().for_each(|check| assert_eq!(check.verify(), Ok(())));
    }
}
