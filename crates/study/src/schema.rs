//! JSON Schemas of the files that people write and of those that a run writes, published in `docs/schema/`.

use crate::file::Study;
use crate::findings::Findings;
use crosstalk_core::fabric::Fabric;
use crosstalk_core::interconnect::{Components, Interconnect};
use crosstalk_core::mpi::Mpi;
use crosstalk_core::record::Line;
use crosstalk_core::system::System;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

/// The schema of a study file.
pub fn study_schema() -> Value {
    schema::<Study>()
}

/// The schema of a file of `fabrics/`.
pub fn fabric_schema() -> Value {
    schema::<Fabric>()
}

/// The schema of a file of `systems/`.
pub fn system_schema() -> Value {
    schema::<System>()
}

/// The schema of a file of `mpi/`.
pub fn mpi_schema() -> Value {
    schema::<Mpi>()
}

/// The schema of a file of `components/`.
pub fn component_schema() -> Value {
    schema::<Components>()
}

/// The schema of a file of `interconnects/`.
pub fn interconnect_schema() -> Value {
    schema::<Interconnect>()
}

/// The schema of `findings.json`, and of `findings` in the result that `run --json` ends with.
pub fn findings_schema() -> Value {
    schema::<Findings>()
}

/// The schema of a line of `journal.ndjson`.
pub fn journal_schema() -> Value {
    let mut schema = schema::<Line>();
    schema["properties"] = json!({ "check": {
        "description": "The run, the line's number, and the CRC-32 (IEEE 802.3) of the line's bytes before these last eight digits. It is the line's last member. In crosstalk.journal/2 there is `crc` instead, the CRC-32 of the line before it; in crosstalk.journal/1 nothing.",
        "type": "string",
        "pattern": "^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$",
    }});
    schema
}

/// The schema of the result that `trace --json` ends with.
pub fn trace_schema() -> Value {
    schema::<crosstalk_core::trace::Trace>()
}

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}
