//! Findings rendered for the browser, for Markdown and for the terminal, in one
//! order: the deciding sentence, the command that repeats it, what it rests on,
//! claims, figures, tables, warnings, fidelity, sources, provenance, the run.
//!
//! Everything shown was computed before; here it is formatted and drawn.
//!
//! What was seen of a live service is rendered in [`trace`].

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod export;

mod html;
mod label;
mod markdown;
mod plot;
mod summary;
mod terminal;
pub mod trace;
mod words;

pub use html::html;
pub use markdown::{Origins, markdown, study};
pub use terminal::{terminal, wrap};
