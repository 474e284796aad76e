//! The file system on ranks that are threads of the test process, and in one process without a network.

mod closed_forms;
mod common;
mod corruption;
mod faults;
mod model;
mod runs;
