//! `crosstalk clean`.

use std::process::ExitCode;

use crosstalk_core::Fault;
use serde_json::json;

use crate::out::Out;

pub fn main(out: &Out) -> Result<ExitCode, Fault> {
    let undone = crosstalk_host::ledger::clean()?;
    for what in &undone {
        out.say(&format!("undone: {what}"));
    }
    if undone.is_empty() {
        out.say("Nothing was left behind.");
    }
    out.tell(&json!({ "result": "clean", "undone": undone }));
    Ok(ExitCode::SUCCESS)
}
