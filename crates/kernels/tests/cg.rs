//! CG against the official eigenvalues.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_kernels::{Class, find};

#[test]
fn class_s_verifies_on_powers_of_two() {
    verified_by_both_clocks("cg", Class::S, &[1, 2, 4]);
}

#[test]
fn class_w_verifies() {
    verified("cg", Class::W, 1, Clock::Real);
}

#[test]
fn operations_are_those_that_the_reference_counts() {
    let kernel = find("cg").expect("there is one");
    assert_eq!((kernel.operations)(Class::S), 2.0 * 15.0 * 1400.0 * (3.0 + 56.0 + 25.0 * 61.0 + 3.0));
    assert!(kernel.check_ranks(6).is_err());
}

/// What a rank of a grid of `width` by `width` sends in class S: numbers of messages and of bytes.
fn sent_on_a_square(width: u64) -> Counted {
    let (order, iterations, steps) = (1400, 15, 25);
    let exchanges = u64::from(width.ilog2());
    let rows = order / width;
    // A product is added up along a row of ranks, and goes across the diagonal.
    let product = Counted { calls: exchanges + 1, bytes: 8 * rows * (exchanges + 1) };
    // Scalars: two in each step, one before, one for the residual, and a message of two in the power method.
    let iteration = Counted {
        calls: (steps + 1) * product.calls + (2 * steps + 3) * exchanges,
        bytes: (steps + 1) * product.bytes + 8 * (2 * steps + 4) * exchanges,
    };
    Counted { calls: iterations * iteration.calls, bytes: iterations * iteration.bytes }
}

#[test]
fn messages_are_those_of_sums_along_rows_and_of_transposed_pieces() {
    for (ranks, width) in [(4, 2), (16, 4)] {
        for rank in verified("cg", Class::S, ranks, Clock::Virtual) {
            assert_eq!(rank.traffic.messages, sent_on_a_square(width), "{ranks}");
            assert!(rank.traffic.collectives.is_empty());
        }
    }
}

/// On two ranks, each has half of the columns, and its half of the rows stays with it after one exchange.
#[test]
fn on_twice_as_many_columns_as_rows_halves_are_sent() {
    for rank in verified("cg", Class::S, 2, Clock::Virtual) {
        let iteration = Counted { calls: 26 * 2 + 53, bytes: 26 * 2 * 8 * 700 + 8 * 54 };
        assert_eq!(
            rank.traffic.messages,
            Counted { calls: 15 * iteration.calls, bytes: 15 * iteration.bytes }
        );
    }
}
