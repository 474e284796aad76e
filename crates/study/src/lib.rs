//! Study files, catalogues, plans, claims, published data; `analyse` turns
//! samples into findings. Pure: no clock, no operating system.
#![forbid(unsafe_code)]

pub mod file;
pub mod findings;
pub mod plan;
pub mod samples;
