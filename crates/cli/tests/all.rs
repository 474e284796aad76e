//! What the program does on a machine that others use, as one test program: built once, tests side by side.
//!
//! What measures how fast something goes, or needs the machine for itself, is a program of its own.

mod bundled;
mod circles;
mod command_line;
mod common;
mod data;
mod earlier;
mod examples;
mod exec;
mod faults;
mod functions;
mod graphs_and_ratings;
mod groups;
mod groups_exec;
mod groups_set;
mod habits;
mod house;
mod interruptions;
mod keep;
mod lacking;
mod mounts;
mod mpi;
mod names;
mod pages;
mod path;
mod program;
mod protection;
mod refusals;
mod room;
mod rundir;
mod runs;
mod services;
mod texts;
mod verdicts;
mod watch;
mod wire;
mod wording;
mod working_set;
