//! Applications: whole computations whose completion time is the result. One
//! master and N slaves compute it over `comm`.
//!
//! | file | holds |
//! |---|---|
//! | `application` | what an application states, and how it becomes a workload |
//! | `account` | what every application tells of its answer and its nodes |
//! | `words` | what master and slaves tell each other |
//! | `exchange` | what slaves hand each other |

mod account;
pub mod als;
mod application;
pub mod exchange;
pub mod pagerank;
mod words;

pub use account::Answer;
pub use application::{Application, Play};
