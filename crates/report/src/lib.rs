//! Renders findings for the browser, for Markdown and for the terminal, in one order: the deciding sentence, comparisons,
//! claims, figures, tables, warnings, origins and methods, fidelity, sources, provenance, the run.
//!
//! Everything shown was computed before: here it is formatted and drawn. [`trace`] renders the trace of a live service.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

mod claims;
pub mod export;

mod html;
mod markdown;
mod plot;
mod readable;
mod summary;
mod terminal;
pub mod trace;
mod words;

pub use html::html;
pub use markdown::{Beside, RunRecord, findings_page, markdown};
pub use terminal::{terminal, wrap};
