//! The report as GitHub's Markdown in ASCII, for issues, pull requests and mail; and the findings as a page to commit.

mod escape;
mod figure;
mod findings_page;
mod grid;
mod joined;
mod report;

pub(crate) use escape::text;
pub use findings_page::{Beside, RunRecord, findings_page};
pub(crate) use grid::grid;
pub use report::markdown;
