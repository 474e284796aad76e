//! Study files, catalogues, plans, claims, published data; `analyse` turns
//! samples into findings. Pure: no clock, no operating system.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod analyse;
pub mod bundled;
pub mod catalogue;
pub mod command;
pub mod cost;
pub mod emulate;
pub mod file;
pub mod findings;
pub mod host_speed;
pub mod journal;
pub mod key_lines;
pub mod measurements;
pub mod mpi;
pub mod node_number;
pub mod number;
pub mod parse;
pub mod part;
pub mod plan;
pub mod predicate;
pub mod prepare;
pub mod published;
pub mod ranged_parameter;
pub mod ranges;
pub mod resolve;
pub mod row;
pub mod rules;
pub mod samples;
pub mod scale;
pub mod schema;
pub mod uncertain;
pub mod words;
pub mod write;

mod check;
mod csv;
mod engine;
mod estimate;
mod factor;
mod label;
mod level;
mod name;
mod query;
mod read;
mod stages;
mod substitute;

pub use analyse::{Decision, analyse, decide, earlier_results, next_block};
pub use bundled::{bundled_catalogue_files, bundled_studies, bundled_study};
pub use catalogue::Catalogues;
pub use command::command_study;
pub use emulate::{emulated_place, emulation};
pub use journal::read_journal;
pub use level::level_word_in_sentence as level_in_sentence;
pub use parse::{parse, parse_recorded};
pub use plan::{PlanOptions, refuse_certain};
pub use prepare::{PreparedStudy, plan, prepare};
pub use resolve::{parse_setting, resolve};
pub use rules::GIVE_UP_AFTER;
pub use schema::{
    component_schema, fabric_schema, findings_schema, interconnect_schema, journal_schema, mpi_schema,
    study_schema, system_schema, trace_schema,
};
pub use words::count_in_words;
pub use write::to_toml;
