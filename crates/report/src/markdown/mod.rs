//! The report as GitHub's Markdown, in ASCII: for issues, pull requests and mail; and findings as a page.

mod escape;
mod figure;
mod grid;
mod report;
mod study;

pub(crate) use escape::text;
pub(crate) use grid::grid;
pub use report::markdown;
pub use study::{Origins, study};
