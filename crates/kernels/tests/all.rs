//! Kernels on ranks that are threads of the test process, over loopback.

mod common;
mod ep;
mod is;
