//! Collective operations as steps: what each rank sends and receives, in rounds. Written once: `comm`
//! carries these steps out, and [`crate::network`] says how long they take.
//!
//! A rank holds numbered *pieces* of data; each operation says which ones. In a round a rank posts its
//! receives, sends, and waits for all of them. A message carries one or more pieces. Between two ranks,
//! messages match in the order sent. A round combines at most one message into a piece, so that results
//! do not depend on the order of arrival.
//!
//! | operation | pieces |
//! |---|---|
//! | barrier | one empty piece, 0 |
//! | bcast, reduce, allreduce | those of the vector: as many as [`piece_count`] says, of about equal size |
//! | reduce-scatter | one for each rank, cut from the vector |
//! | gather, scatter, allgather | one for each rank, numbered by the rank that has it at first or at last |
//! | alltoall, linear and pairwise | `0..n` are sent, numbered by destination; `n..2n` are received, by source |
//! | alltoall, Bruck | `0..n`; piece j is at first what goes to the rank j to the right, at last what came from the rank j to the left |

mod algorithm;
mod choice;
mod doubling;
mod exchange;
mod pieces;
mod rabenseifner;
mod ring;
mod round;
mod tree;

pub use algorithm::{Steps, fits, piece_count};
pub use choice::Choices;
pub use pieces::Pieces;
pub use round::{Action, Position, Receive, Round, Send};

#[cfg(test)]
mod tests;
