//! Ranks, their messages and their clocks, as one test program: in virtual and in real time, whole programs and faults.
//! What compares times with other times is a program of its own.

mod common;
mod communicators;
mod data;
mod deadlock;
mod exchange;
mod faults;
mod recorded;
mod requests;
mod spill;
mod traffic;
mod xdp;
