//! JSON Schemas of the files people write, published in `docs/schema/`.

use crate::file::Study;
use crosstalk_core::fabric::Fabric;
use crosstalk_core::system::System;
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

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

fn schema<T: JsonSchema>() -> Value {
    schema_for!(T).to_value()
}
