//! Everything that is asked of studies, as one program: linked once.

mod background_work;
mod calibration;
mod command;
mod counts;
mod earlier;
mod engine;
mod false_verdicts;
mod faults;
mod figures;
mod findings;
mod fixture_verdicts;
mod fixtures;
mod fuzz;
mod journal;
mod latency;
mod mock;
mod mpi;
mod noise;
mod order;
mod ranges;
mod robust;
mod schema;
mod settings;
mod sizes;
mod synthetic;
mod verdicts;
