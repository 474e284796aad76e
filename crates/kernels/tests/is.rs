//! IS against the official ranks of the test keys, and the order of all keys.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_core::mpi::Operation;
use crosstalk_kernels::{Class, find};

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("is", Class::S, &[1, 2, 4]);
}

#[test]
fn class_w_verifies() {
    verified("is", Class::W, 1, Clock::Real);
}

#[test]
fn an_iteration_adds_up_bucket_sizes_announces_parts_and_sends_every_key() {
    let (keys, buckets, ranks, iterations) = (1 << 16, 1 << 9, 4, 10);
    let of_iterations = |bytes: u64| Counted { calls: iterations, bytes: iterations * bytes };
    for rank in verified("is", Class::S, ranks as usize, Clock::Virtual) {
        assert_eq!(rank.traffic.messages, Counted::default());
        let collectives = &rank.traffic.collectives;
        // Bucket sizes, with five test keys behind them.
        assert_eq!(collectives[&Operation::Allreduce], of_iterations(4 * (buckets + 5)));
        assert_eq!(collectives[&Operation::Alltoall], of_iterations(4 * ranks));
        assert_eq!(collectives[&Operation::Alltoallv], of_iterations(4 * keys / ranks));
        assert_eq!(collectives.len(), 3);
    }
}

#[test]
fn counts_of_operations_are_keys_ranked() {
    let kernel = find("is").expect("there is one");
    assert_eq!((kernel.operations)(Class::A), 10.0 * f64::from(1 << 23));
    assert!(kernel.check_ranks(3).is_err());
}
