//! Ranks, their messages and their clocks, as one test program. What compares times with other times is a program
//! of its own.

mod common;
mod data;
mod exchange;
mod faults;
mod simulated;
mod spill;
mod xdp;
