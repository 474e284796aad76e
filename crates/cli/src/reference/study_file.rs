//! The study file: its JSON Schema as tables, a page for each subject.

use std::collections::BTreeSet;

use crosstalk_core::Fault;
use serde_json::{Map, Value};

use super::markdown::{code, prose, table};
use super::page::Page;

/// A page, and the parts of the schema on it.
struct Subject {
    file: &'static str,
    title: &'static str,
    parts: &'static [&'static str],
}

const SUBJECTS: [Subject; 4] = [
    Subject {
        file: "README.md",
        title: "Study file",
        parts: &["Headline", "Quick", "OnEngine", "Value", "Share", "Names"],
    },
    Subject {
        file: "experiments.md",
        title: "Study file: experiments",
        parts: &["Experiment", "WorkSpec", "Params", "Factor", "FactorSpec", "FromResult", "Compare"],
    },
    Subject {
        file: "claims.md",
        title: "Study file: claims",
        parts: &[
            "Claim",
            "Ratio",
            "Sides",
            "Trend",
            "Order",
            "Peak",
            "Threshold",
            "Correlation",
            "Published",
        ],
    },
    Subject {
        file: "figures.md",
        title: "Study file: figures and tables",
        parts: &["FigureSpec", "DrawAs", "TableSpec", "ColumnSpec"],
    },
];

/// A page for each subject.
///
/// # Errors
/// If a part of the schema has no page, or a page names a part that the schema lacks.
pub fn pages(schema: &Value) -> Result<Vec<Page>, Fault> {
    let empty = Map::new();
    let parts = schema["$defs"].as_object().unwrap_or(&empty);
    let placed: BTreeSet<&str> = SUBJECTS.iter().flat_map(|subject| subject.parts).copied().collect();
    let known: BTreeSet<&str> = parts.keys().map(String::as_str).collect();
    if placed != known {
        let unplaced: Vec<_> = placed.symmetric_difference(&known).collect();
        return Err(Fault::environment(format!(
            "the study file's reference and its schema differ in {unplaced:?}"
        ))
        .remedy("put each part of the schema on one page, in SUBJECTS of reference/study_file.rs"));
    }
    Ok(SUBJECTS.iter().map(|subject| page(subject, schema)).collect())
}

fn page(subject: &Subject, schema: &Value) -> Page {
    let mut text = format!("# {}\n", subject.title);
    if subject.file == "README.md" {
        text += "\nA study is a TOML file. `crosstalk show kosmos` prints a complete one, `crosstalk show schema` prints the \
                 JSON Schema from which this page is generated. A key in **bold** is required.\n";
        text += &keys(schema);
    }
    for part in subject.parts {
        let schema = &schema["$defs"][*part];
        text += &format!(
            "\n## {part}\n\n{}\n",
            prose(&joined(schema["description"].as_str().unwrap_or_default()))
        );
        text += &keys(schema);
    }
    Page::new(format!("study-file/{}", subject.file), text)
}

/// The keys of an object, or the possible forms of a value.
fn keys(schema: &Value) -> String {
    if let Some(properties) = schema["properties"].as_object() {
        let required: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let row = |(name, about): (&String, &Value)| {
            let name = if required.contains(name.as_str()) { format!("**`{name}`**") } else { code(name) };
            [name, kind(about), meaning(about)]
        };
        return format!("\n{}", table(["key", "holds", "meaning"], properties.iter().map(row)));
    }
    let forms = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    match forms {
        Some(forms) => {
            let rows = forms.iter().map(|form| [kind(form), meaning(form)]);
            format!("\n{}", table(["form", "meaning"], rows))
        }
        None => String::new(),
    }
}

/// The type of a value: `text`, `list: whole number`, or a link to a part of the schema.
fn kind(schema: &Value) -> String {
    if let Some(part) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return link(part);
    }
    if let Some(word) = schema["const"].as_str() {
        return code(word);
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let words = forms.iter().map(kind).filter(|word| word != "nothing");
        return words.collect::<Vec<_>>().join(" or ");
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let word = |of: &&str| match *of {
        "string" => "text".to_string(),
        "integer" => "whole number".into(),
        "boolean" => "`true` or `false`".into(),
        "array" => format!("list: {}", kind(&schema["items"])),
        "object" => match schema.get("additionalProperties") {
            Some(inner) if inner.is_object() => format!("table: name = {}", kind(inner)),
            _ => "table".into(),
        },
        other => other.to_string(),
    };
    let words: Vec<String> = types.iter().filter(|of| **of != "null").map(word).collect();
    if words.is_empty() { "nothing".into() } else { words.join(" or ") }
}

/// A link to a part of the schema.
fn link(part: &str) -> String {
    let subject = SUBJECTS.iter().find(|subject| subject.parts.contains(&part));
    let file = subject.map_or("README.md", |subject| subject.file);
    format!("[{part}]({file}#{})", part.to_lowercase())
}

fn meaning(schema: &Value) -> String {
    let text = prose(&joined(schema["description"].as_str().unwrap_or_default()));
    match schema.get("default") {
        Some(default) if is_shown(default) => format!("{text} [default: {}]", plain(default)),
        _ => text,
    }
}

/// Whether a default is shown: empty ones are not.
fn is_shown(default: &Value) -> bool {
    match default {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Joins the lines of each paragraph.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|part| part.lines().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
