//! The report against made-up findings: its structure, its properties, and the
//! page in a real browser.

mod browser;
mod cdp;
mod fixture;
mod hostile;
mod properties;
mod said;
mod structure;
mod study;
