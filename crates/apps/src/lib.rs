//! Applications: whole computations whose completion time is the result. One
//! master and N slaves compute it over `comm`.
//!
//! | file | holds |
//! |---|---|
//! | `application` | the roles, and how a node gets ready for one |
//! | `account` | what every application reports of its answer and its nodes |
//! | `coordination` | the messages between master and slaves |
//! | `exchange` | the all-to-all exchange between slaves |
//! | `input` | the files that users name |
//! | `mapreduce` | counting by key, within a memory limit |
//! | `dataset` | real data for them, from where their authors publish it |
//! | `random` | random numbers that any node can count |
//! | `spill` | data on a node's disk that its memory does not hold |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub(crate) mod account;
pub mod als;
mod application;
pub mod bayes;
mod coordination;
pub mod dataset;
pub mod engine;
pub mod exchange;
#[doc(hidden)]
pub mod fuzzing;
mod input;
pub mod mapreduce;
pub mod pagerank;
mod random;
pub mod spill;

use crosstalk_core::Fault;
use crosstalk_core::scene::Workload;
use crosstalk_core::value::Params;

pub use account::MasterAnswer;
pub use application::{NodeTask, Role, deployment, prepare, slave_number};
pub use input::not_text;

/// The workloads of this room.
pub fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(als::ALS), Box::new(bayes::BAYES), Box::new(pagerank::PAGERANK)]
}

/// Checks the beginnings of the files that a workload reads, so that an unreadable file is refused before
/// there are nodes. Returns a remark about them, if there is one.
///
/// # Errors
/// Where a parameter is wrong, or a file is not there or not what it should be.
pub fn check_inputs(workload: &str, params: &Params) -> Result<Option<String>, Fault> {
    let text = |parameter| match params.path(parameter)? {
        Some(path) => input::TextFile::open(&path).map(drop),
        None => Ok(()),
    };
    match workload {
        "als" => text("ratings").and_then(|()| text("personal"))?,
        "bayes" => {
            params.path("corpus")?.map_or(Ok(()), |path| bayes::mediawiki::Pages::open(&path).map(drop))?
        }
        "pagerank" => {
            return params.path("graph")?.map_or(Ok(None), |path| pagerank::edge_list::heading_remark(&path));
        }
        _ => {}
    }
    Ok(None)
}
