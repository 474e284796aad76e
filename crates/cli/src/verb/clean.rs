//! `crosstalk clean`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use crosstalk_groups::{Contents, Registry};
use crosstalk_host::ledger::{CleanReport, undo_all_abandoned};
use serde_json::json;

use crate::out::{Out, print_error};

/// Runs `crosstalk clean`.
pub fn main(out: &Out) -> Result<ExitCode, Fault> {
    let CleanReport { undone, gone, mut left } = undo_all_abandoned();
    let contents = Registry::existing().map_or(Ok(Contents::default()), |registry| registry.read());
    let groups = contents.map(|contents| contents.groups.len()).unwrap_or_else(|fault| {
        left.push(fault);
        0
    });
    for what in &undone {
        out.say(&format!("undone: {what}"));
    }
    for what in &gone {
        out.say(&format!("gone already, or in use by another program: {what}"));
    }
    if undone.is_empty() && gone.is_empty() && left.is_empty() {
        out.say("There was nothing to undo.");
    }
    if groups > 0 {
        out.say(&format!(
            "Named groups stay ({groups}): see crosstalk groups list; crosstalk groups remove --all"
        ));
    }
    let sentences: Vec<String> = left.iter().map(Fault::sentence).collect();
    out.record(
        &json!({ "result": "clean", "undone": undone, "gone": gone, "groups": groups, "left": sentences }),
    );
    let last = left.pop();
    left.iter().for_each(|fault| print_error(&fault.to_string()));
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}
