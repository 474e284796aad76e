//! The published JSON Schema of the result of `groups tune` is that of the type. `CROSSTALK_REWRITE=1` writes it anew.

use std::path::PathBuf;

use crosstalk_users::tune::schema;

#[test]
fn the_published_schema_is_up_to_date() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/tune.json");
    let found = serde_json::to_string_pretty(&schema()).expect("writes") + "\n";
    if std::env::var_os("CROSSTALK_REWRITE").is_some() {
        std::fs::write(&path, &found).expect("writes");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == found, "docs/schema/tune.json is out of date: run with CROSSTALK_REWRITE=1");
}
