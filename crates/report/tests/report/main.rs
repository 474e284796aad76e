//! The report of made-up findings: its structure, its wording, its properties, and the page in a real browser.

mod browser;
mod cdp;
mod findings_page;
mod fixture;
mod hostile;
mod properties;
mod structure;
mod wording;
