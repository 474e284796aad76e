//! LU against the official norms and the surface integral.

use crate::common::{Clock, run, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_core::mpi::Operation;
use crosstalk_kernels::Class;

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("lu", Class::S, &[1, 2, 4]);
}

#[test]
fn class_w_verifies() {
    verified("lu", Class::W, 1, Clock::Real);
}

#[test]
fn more_ranks_change_no_more_than_rounding() {
    let alone = &run("lu", Class::S, 1, Clock::Real)[0].checks;
    let divided = &run("lu", Class::S, 8, Clock::Real)[0].checks;
    for (alone, divided) in alone.iter().zip(divided) {
        let apart = (alone.found - divided.found).abs() / alone.found;
        assert!(apart < 1e-10, "{}: {apart:e}", alone.what);
    }
}

/// Two messages for each plane and pair of neighbours in an iteration, one in either direction, of the values at their
/// common edge within the cube; and two of the layers next to it, for all planes.
#[test]
fn messages_are_those_of_the_pipeline_and_of_two_layers() {
    let (points, iterations) = (12, 50);
    for [in_xi, in_eta] in [[2, 1], [2, 2], [4, 2]] {
        let pairs = (in_xi - 1) * in_eta + (in_eta - 1) * in_xi;
        let cuts = in_xi - 1 + in_eta - 1;
        let (inner, value) = (points - 2, 5 * 8);
        let edges = Counted { calls: 2 * inner * pairs, bytes: 2 * inner * inner * cuts * value };
        let layers = Counted { calls: 2 * pairs, bytes: 2 * 2 * points * points * cuts * value };
        let ranks = run("lu", Class::S, (in_xi * in_eta) as usize, Clock::Virtual);
        let calls: u64 = ranks.iter().map(|rank| rank.traffic.messages.calls).sum();
        let bytes: u64 = ranks.iter().map(|rank| rank.traffic.messages.bytes).sum();
        assert_eq!(calls, iterations * (edges.calls + layers.calls), "{in_xi} × {in_eta}");
        assert_eq!(bytes, iterations * (edges.bytes + layers.bytes), "{in_xi} × {in_eta}");
        for rank in ranks {
            // The norms of the last change and of the last residual.
            assert_eq!(
                rank.traffic.collectives[&Operation::Allreduce],
                Counted { calls: 2, bytes: 2 * value }
            );
            assert_eq!(rank.traffic.collectives.len(), 1);
        }
    }
}
