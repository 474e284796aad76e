//! Kernels on ranks that are threads of the test process, over loopback.

mod bt;
mod cg;
mod common;
mod ep;
mod ft;
mod hpl;
mod is;
mod larger;
mod lu;
mod memory;
mod mg;
mod sp;
