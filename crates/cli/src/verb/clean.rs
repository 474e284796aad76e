//! `crosstalk clean`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use serde_json::json;

use crate::out::{Out, complain};

pub fn main(out: &Out) -> Result<ExitCode, Fault> {
    let (undone, mut faults) = crosstalk_host::ledger::clean();
    for what in &undone {
        out.say(&format!("undone: {what}"));
    }
    if undone.is_empty() && faults.is_empty() {
        out.say("Nothing was left behind.");
    }
    out.tell(&json!({ "result": "clean", "undone": undone }));
    let last = faults.pop();
    faults.iter().for_each(|fault| complain(&fault.to_string()));
    last.map_or(Ok(ExitCode::SUCCESS), Err)
}
