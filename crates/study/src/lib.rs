//! Study files, catalogues, plans, claims, published data; `analyse` turns
//! samples into findings. Pure: no clock, no operating system.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod analyse;
pub mod bundled;
pub mod catalogue;
pub mod command;
pub mod emulate;
pub mod file;
pub mod findings;
pub mod journal;
pub mod measured;
pub mod number;
pub mod parse;
pub mod part;
pub mod plan;
pub mod predicate;
pub mod published;
pub mod resolve;
pub mod row;
pub mod samples;
pub mod schema;
pub mod write;
pub mod written;

mod check;
mod csv;
mod engine;
mod factor;
mod label;
mod read;
mod substitute;

pub use analyse::{Decision, GIVE_UP_AFTER, analyse, called, counted, decide, next_block};
pub use bundled::{bundled_catalogue_files, bundled_studies, bundled_study};
pub use catalogue::Catalogues;
pub use command::command_study;
pub use emulate::emulation;
pub use journal::read_journal;
pub use parse::parse;
pub use plan::PlanOptions;
pub use plan::make::plan;
pub use resolve::{resolve, setting};
pub use schema::{
    component_schema, fabric_schema, findings_schema, interconnect_schema, journal_schema, study_schema,
    system_schema, trace_schema,
};
pub use write::to_toml;
