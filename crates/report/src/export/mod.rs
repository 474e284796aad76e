//! Exports of rows: CSV in SI base units, and a Markdown table in readable units.

mod csv;
mod table;

pub use csv::csv;
pub use table::markdown;
