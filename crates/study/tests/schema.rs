//! The published JSON Schemas are those of the types. `CROSSTALK_REWRITE=1`
//! writes the files anew.

use crosstalk_study::{
    component_schema, fabric_schema, findings_schema, interconnect_schema, journal_schema, mpi_schema,
    study_schema, system_schema, trace_schema,
};
use std::path::PathBuf;

#[test]
fn the_published_schemas_are_up_to_date() {
    let schemas = [
        ("study", study_schema()),
        ("fabric", fabric_schema()),
        ("system", system_schema()),
        ("mpi", mpi_schema()),
        ("component", component_schema()),
        ("interconnect", interconnect_schema()),
        ("findings", findings_schema()),
        ("journal", journal_schema()),
        ("trace", trace_schema()),
    ];
    for (name, schema) in schemas {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(format!("{name}.json"));
        let found = serde_json::to_string_pretty(&schema).expect("writes") + "\n";
        if std::env::var_os("CROSSTALK_REWRITE").is_some() {
            std::fs::write(&path, &found).expect("writes");
        }
        let published = std::fs::read_to_string(&path).expect("is published");
        assert!(published == found, "docs/schema/{name}.json is out of date: run with CROSSTALK_REWRITE=1");
    }
}
