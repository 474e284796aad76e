//! Writes the report of made-up findings: `cargo run -p crosstalk-report
//! --example demo -- report.html` (or `report.md`; without a file, to the terminal).

#![forbid(unsafe_code)]

#[path = "../tests/report/fixture/mod.rs"]
mod fixture;

fn main() -> std::io::Result<()> {
    let findings = fixture::example();
    match std::env::args().nth(1) {
        None => print!("{}", crosstalk_report::terminal(&findings, 100, true)),
        Some(path) if path.ends_with(".md") => std::fs::write(path, crosstalk_report::markdown(&findings))?,
        Some(path) => std::fs::write(path, crosstalk_report::html(&findings))?,
    }
    Ok(())
}
