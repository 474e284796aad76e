//! FT against the official checksums, and its messages.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_core::mpi::Operation;
use crosstalk_kernels::{Class, Timed};

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("ft", Class::S, &[1, 2, 4]);
}

#[test]
fn class_w_verifies() {
    verified("ft", Class::W, 1, Clock::Real);
}

/// Each transform has so many transposes, in which a rank sends all that it has. Each time step has a checksum.
fn check_traffic(ranks: &[Timed], points: u64, transposes: u64) {
    let steps = 6;
    let each = 16 * points / ranks.len() as u64;
    let calls = transposes * (1 + steps);
    for rank in ranks {
        assert_eq!(rank.traffic.messages, Counted::default());
        assert_eq!(rank.traffic.collectives[&Operation::Alltoall], Counted { calls, bytes: calls * each });
        assert_eq!(rank.traffic.collectives[&Operation::Reduce], Counted { calls: steps, bytes: 16 * steps });
        assert_eq!(rank.traffic.collectives.len(), 2);
        // Others than the first rank have no sums that could be wrong.
        rank.checks.iter().for_each(|check| assert_eq!(check.verify(), Ok(())));
    }
}

#[test]
fn slabs_are_transposed_once_a_transform() {
    check_traffic(&verified("ft", Class::S, 4, Clock::Virtual), 64 * 64 * 64, 1);
}

#[test]
fn with_more_ranks_than_planes_pencils_are_transposed_twice() {
    check_traffic(&verified("ft", Class::W, 64, Clock::Real), 128 * 128 * 32, 2);
}
