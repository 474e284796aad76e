//! Samples in, findings out.
//!
//! ```text
//! Run ─▶ Data ──────▶ View ──────▶ Datum ───────────▶ Family ─────────▶ Findings
//!        cell × block   selected     a number a block    judged together    in words and figures
//! ```
//!
//! Everything is a pure function of study, catalogues, plan and run: the
//! runner that asks whether to stop and the report made years later conclude
//! the same from the same journal.
//! Each file knows those of the steps before its own, and none behind.

// A run put in order.
mod cell;
mod data;
mod select;
mod split;
mod summary;

// A number a block, and what is asked of it.
mod ask;
mod claim;
mod contrast;
mod datum;
mod lookup;
mod noise;
mod pair;
mod question;
mod shape;
mod statement;

// Answers, and when there are enough.
mod decision;
mod earlier;
mod family;

// What follows for each question, and why.
mod attribution;
mod causes;
mod change;
mod comparison;
mod detectable;
mod network;
mod scaled;
mod verdict;

// What else a reader is shown.
mod cells;
mod context;
mod failures;
mod figures;
mod headline;
mod machine;
mod notes;
mod overview;
mod shown;
mod sources;
mod tables;

// All of it.
mod conclude;

pub(crate) use cell::counts;
pub use conclude::analyse;
pub(crate) use data::{Data, Experiment};
pub use decision::{Decision, decide, next_block, questions};
pub use earlier::{earlier_results, peak};
pub(crate) use summary::summary;
