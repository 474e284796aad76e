//! Applications: whole computations whose completion time is the result. One
//! master and N slaves compute it over `comm`.
//!
//! | file | holds |
//! |---|---|
//! | `application` | the roles, and how a node gets ready for one |
//! | `account` | what every application tells of its answer and its nodes |
//! | `words` | what master and slaves tell each other |
//! | `exchange` | what slaves hand each other |
//! | `input` | files that people name |
//! | `mapreduce` | counting by key, within a memory limit |
//! | `spill` | what a node's memory does not hold, on its disk |

pub(crate) mod account;
pub mod als;
mod application;
pub mod bayes;
pub mod exchange;
mod input;
pub mod mapreduce;
pub mod pagerank;
pub mod spill;
mod words;

pub use account::Answer;
pub use application::{Play, Role, deployment, prepare, slave};
