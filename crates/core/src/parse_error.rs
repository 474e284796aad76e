//! Rewords messages of serde's TOML and JSON parsers for the person who wrote the file: without names of Rust types.

/// The message of the TOML or JSON parser in plain words: what was expected, and what was found.
pub fn in_plain_words(message: &str) -> String {
    let message = message.replace('\n', "; ").replace("missing field", "missing key");
    let mismatch = ["invalid value: ", "invalid type: "].iter().find_map(|begin| message.strip_prefix(begin));
    if let Some((found, expected)) = mismatch.and_then(|rest| rest.split_once(", expected ")) {
        // The JSON parser appends the position.
        let at = expected.rfind(" at line ").unwrap_or(expected.len());
        let (expected, place) = expected.split_at(at);
        return format!("expected {}, found {}{place}", expected_kind(expected), found_value(found));
    }
    let length = message
        .strip_prefix("invalid length ")
        .and_then(|rest| rest.split_once(", expected an array of length "));
    if let Some((found, expected)) = length {
        return format!("expected a list of {expected} values, found {found}");
    }
    match message.split_once("data did not match any variant of untagged enum ") {
        Some((before, name)) => {
            let place = name.find(" at line ").map_or("", |at| &name[at..]);
            format!("{before}expected another kind of value{place}")
        }
        None => message,
    }
}

/// The kind of value that was expected. Structs are written as tables, enum variants as words.
fn expected_kind(expected: &str) -> &str {
    match expected {
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number of at least 0",
        "i64" | "i32" => "a whole number",
        "f64" | "f32" => "a number",
        "a boolean" => "true or false",
        "a string" | "string" | "variant identifier" => "text",
        "a sequence" => "a list",
        "a map" | "map" => "a table",
        _ if expected.starts_with("struct ") => "a table",
        _ if expected.starts_with("enum ") || expected.ends_with(" enum") => "text",
        _ if expected.starts_with("internally tagged enum ") => "a table",
        _ if expected.starts_with("tuple ") => "a list",
        other => other,
    }
}

/// The value that was found.
fn found_value(found: &str) -> String {
    match found.split_once(' ') {
        Some(("string", text)) => format!("text {text}"),
        Some(("boolean", value)) => value.into(),
        Some(("integer", value)) => format!("the number {value}"),
        Some(("floating", _)) => found.replacen("floating point", "the number", 1),
        _ if found == "sequence" => "a list".into(),
        _ if found == "map" => "a table".into(),
        _ if found == "null" => "nothing".into(),
        _ => found.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_a_type_remains() {
        for (message, reworded) in [
            ("invalid type: integer `3`, expected struct Source", "expected a table, found the number `3`"),
            ("invalid type: string \"a\", expected a sequence", "expected a list, found text \"a\""),
            ("invalid type: map, expected f64", "expected a number, found a table"),
            (
                "invalid value: integer `-1`, expected usize",
                "expected a whole number of at least 0, found the number `-1`",
            ),
            (
                "invalid type: floating point `1.5`, expected i64",
                "expected a whole number, found the number `1.5`",
            ),
            ("invalid type: boolean `true`, expected enum Kind", "expected text, found `true`"),
            (
                "invalid type: null, expected struct Report at line 1 column 9",
                "expected a table, found nothing at line 1 column 9",
            ),
            ("data did not match any variant of untagged enum Word", "expected another kind of value"),
            ("missing field `text`", "missing key `text`"),
            ("invalid length 1, expected an array of length 2", "expected a list of 2 values, found 1"),
        ] {
            assert_eq!(in_plain_words(message), reworded);
        }
    }
}
