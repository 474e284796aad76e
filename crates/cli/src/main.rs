//! The `crosstalk` program.
fn main() {}
