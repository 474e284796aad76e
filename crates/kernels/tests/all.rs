//! Kernels on ranks that are threads of the test process, over loopback.

mod cg;
mod common;
mod ep;
mod is;
