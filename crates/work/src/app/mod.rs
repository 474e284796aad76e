//! Applications: whole computations whose completion time is the result.

pub mod mapreduce;
pub mod pagerank;
