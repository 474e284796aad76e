//! `crosstalk clean`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_host::ledger::{CleanReport, undo_all_abandoned};
use serde_json::json;

use crate::out::{Out, print_error};

/// Runs `crosstalk clean`.
pub fn main(out: &Out) -> Result<ExitCode, Fault> {
    let CleanReport { undone, gone, mut left } = undo_all_abandoned();
    for what in &undone {
        out.say(&format!("undone: {what}"));
    }
    for what in &gone {
        out.say(&format!("gone already, or in use by another program: {what}"));
    }
    if undone.is_empty() && gone.is_empty() && left.is_empty() {
        out.say("There was nothing to undo.");
    }
    let sentences: Vec<String> = left.iter().map(Fault::sentence).collect();
    out.record(&json!({ "result": "clean", "undone": undone, "gone": gone, "left": sentences }));
    let last = left.pop();
    left.iter().for_each(|fault| print_error(&fault.to_string()));
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}
