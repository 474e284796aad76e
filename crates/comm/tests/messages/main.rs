//! Message passing, as one test program: in virtual and in real time, whole programs and faults.

mod common;
mod communicators;
mod data;
mod deadlock;
mod exchange;
mod faults;
mod recorded;
mod requests;
mod spill;
