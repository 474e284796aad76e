//! draft
#![allow(missing_docs)]
pub mod cholesky;
pub mod factors;
pub mod half_step;
pub mod normal;
pub mod rows;
#[cfg(test)]
mod reference;
