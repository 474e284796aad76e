//! EP against the official sums.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_core::mpi::Operation;
use crosstalk_kernels::Class;

#[test]
fn class_s_verifies_on_any_number_of_ranks() {
    verified_by_both_clocks("ep", Class::S, &[1, 2, 3, 4]);
}

#[test]
fn ranks_talk_only_to_add_up() {
    for rank in verified("ep", Class::S, 4, Clock::Virtual) {
        assert_eq!(rank.traffic.messages, Counted::default());
        // Two sums, and ten rings, of eight bytes each.
        assert_eq!(rank.traffic.collectives[&Operation::Allreduce], Counted { calls: 2, bytes: 96 });
        assert_eq!(rank.traffic.collectives.len(), 1);
    }
}
