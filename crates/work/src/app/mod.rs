//! Applications: whole computations whose completion time is the result.

pub mod als;
pub mod pagerank;
