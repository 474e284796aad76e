//! The study file: its JSON Schema as tables, a page a subject.

use std::collections::BTreeSet;

use crosstalk_core::Fault;
use serde_json::{Map, Value};

use super::Page;
use super::markdown::{code, prose, table};

/// Which part of the schema stands on which page.
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

/// A page a subject.
///
/// # Errors
/// Where a part of the schema stands on no page, or a page has a part that the schema lacks.
pub fn pages(schema: &Value) -> Result<Vec<Page>, Fault> {
    let empty = Map::new();
    let parts = schema["$defs"].as_object().unwrap_or(&empty);
    let placed: BTreeSet<&str> = SUBJECTS.iter().flat_map(|subject| subject.parts).copied().collect();
    let known: BTreeSet<&str> = parts.keys().map(String::as_str).collect();
    if placed != known {
        let astray: Vec<_> = placed.symmetric_difference(&known).collect();
        return Err(Fault::environment(format!(
            "the study file's reference and its schema differ in {astray:?}"
        ))
        .remedy("put each part of the schema on one page, in SUBJECTS of reference/study_file.rs"));
    }
    Ok(SUBJECTS.iter().map(|subject| page(subject, schema)).collect())
}

fn page(subject: &Subject, schema: &Value) -> Page {
    let mut text = format!("# {}\n", subject.title);
    if subject.file == "README.md" {
        text += "\nA study is a TOML file. `crosstalk show kosmos` prints a whole one, `crosstalk show schema` the \
                 JSON Schema that this page is made from. A key in **bold** must be there.\n";
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

/// The keys of an object, or the forms that a value may have.
fn keys(schema: &Value) -> String {
    if let Some(properties) = schema["properties"].as_object() {
        let must: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let row = |(name, about): (&String, &Value)| {
            let name = if must.contains(name.as_str()) { format!("**`{name}`**") } else { code(name) };
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

/// What a value is: `text`, `list of numbers`, a link to the part that says more.
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

/// A link to where the part stands.
fn link(part: &str) -> String {
    let subject = SUBJECTS.iter().find(|subject| subject.parts.contains(&part));
    let file = subject.map_or("README.md", |subject| subject.file);
    format!("[{part}]({file}#{})", part.to_lowercase())
}

fn meaning(schema: &Value) -> String {
    let text = prose(&joined(schema["description"].as_str().unwrap_or_default()));
    match schema.get("default") {
        Some(default) if is_told(default) => format!("{text} [default: {}]", plain(default)),
        _ => text,
    }
}

/// Nothing by default is not worth a word.
fn is_told(default: &Value) -> bool {
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

/// Lines that were broken to fit the source become one.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|part| part.lines().collect::<Vec<_>>().join(" "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}
