//! Rows for other programs: CSV (RFC 4180) in SI base units, and a Markdown table in human ones.

mod csv;
mod table;

pub use csv::csv;
pub use table::markdown;
