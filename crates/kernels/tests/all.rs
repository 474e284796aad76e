//! Kernels on ranks that are threads of the test process, over loopback.

mod bt;
mod common;
mod ep;
mod sp;
