//! SP against the official norms, and its messages.

use crate::common::{Clock, verified, verified_by_both_clocks};
use crosstalk_comm::Counted;
use crosstalk_kernels::Class;

#[test]
fn class_s_verifies_on_square_numbers_of_ranks() {
    verified_by_both_clocks("sp", Class::S, &[1, 4, 9]);
}

#[test]
fn class_w_verifies_on_one_rank() {
    verified("sp", Class::W, 1, Clock::Real);
}

/// NAS-95-020, section 3. On 4 ranks, each has two cells of 6³ of the 12³ points, and in each direction one of them has a
/// neighbour on each side. In each of 100 steps it sends
/// - six messages of faces, two layers deep, and
/// - in each direction one on and one back, of the 5² lines of a cell that are not on the boundary: two points with five
///   right-hand sides and two factors of three systems, and two with five solutions.
#[test]
fn ranks_send_faces_and_the_ends_of_lines() {
    let (faces, on, back) = (2 * 6 * 6 * 5, 5 * 5 * 2 * (5 + 2 * 3), 5 * 5 * 2 * 5);
    for rank in verified("sp", Class::S, 4, Clock::Virtual) {
        let expected = Counted { calls: 100 * (6 + 3 * 2), bytes: 100 * 8 * (6 * faces + 3 * (on + back)) };
        assert_eq!(rank.traffic.messages, expected);
        assert!(rank.traffic.collectives.is_empty());
    }
}
