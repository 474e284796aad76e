//! draft
#![allow(missing_docs)]
mod alias;
pub mod cholesky;
pub mod config;
mod csv;
pub mod factors;
mod generate;
pub mod half_step;
pub mod node;
mod normal;
pub mod rating;
#[cfg(test)]
mod reference;
pub mod route;
pub mod rows;
pub mod shard;
pub mod source;
pub mod squares;
pub mod train;
