//! Samples in, findings out.
//!
//! ```text
//! Run ─▶ Data ──────▶ View ──────▶ Datum ───────────▶ Family ─────────▶ Findings
//!        cell × block   selected     a number a block    judged together    in words and figures
//! ```
//!
//! Everything is a pure function of study, catalogues, plan and run: the stopping rule and a report made years later
//! conclude the same from the same journal. Each file uses files of its own step and of the steps before it.

// A run by cell and block.
mod cell;
mod data;
mod select;
mod split;
mod summary;

// One number a block, and what is asked of it.
mod claim;
mod contrast;
mod datum;
mod hypothesis;
mod lookup;
mod noise;
mod pair;
mod patterns;
mod question;
mod statement;

// Answers, and whether they suffice.
mod decision;
mod earlier;
mod family;
mod over_ranges;

// The finding of each question.
mod attribution;
mod causes;
mod change;
mod comparison;
mod detectable;
mod implied;
mod latency_effect;
mod network;
mod ranged;
mod verdict;
mod without_ranges;

// The other findings.
mod cell_value;
mod cells;
mod context;
mod failures;
mod figures;
mod headline;
mod machine;
mod notes;
mod overview;
mod replaced;
mod sources;
mod tables;

// All of it.
mod conclude;

pub(crate) use cell::is_counted;
pub use conclude::analyse;
pub(crate) use data::{Data, Experiment, origins};
pub use decision::{Decision, count_questions, decide, next_block};
pub use earlier::{earlier_results, peak_level};
pub(crate) use summary::attempt_value;
