//! Reads a TOML file into its type. Faults name file, line, and the nearest valid name.

use crate::key_lines::LineIndex;
use crosstalk_core::Fault;
use crosstalk_core::name::nearest;
use crosstalk_core::parse_error::in_plain_words;
use crosstalk_core::quote::message as message_of;
use serde::de::DeserializeOwned;

/// Reads `text`, found at `place`.
pub(crate) fn read<T: DeserializeOwned>(text: &str, place: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|error| explain(&error, text, place))
}

/// A reader's error as a fault with its line.
pub(crate) fn explain(error: &toml::de::Error, text: &str, place: &str) -> Fault {
    let place = match error.span() {
        Some(span) => format!("{place}:{}", LineIndex::of(text).line(span.start)),
        None => place.to_string(),
    };
    in_our_words(error.message()).at(place)
}

/// The reader's message as a fault in our words.
fn in_our_words(message: &str) -> Fault {
    // A quantity's fault comes as text with its remedy on a line of its own.
    let (message, remedy) = match message.split_once("\n  try: ") {
        Some((message, remedy)) => (message, Some(remedy.to_string())),
        None => (message, None),
    };
    let fault = match message.split_once("data did not match any variant of untagged enum ") {
        Some((_, "Published")) => Fault::usage("expected a number or the id of a published value"),
        Some(_) => Fault::usage("expected true or false, a number, text, or a list of these"),
        None => unknown(message).unwrap_or_else(|| Fault::usage(message_of(in_plain_words(message)))),
    };
    match remedy {
        Some(remedy) => fault.remedy(remedy),
        None => fault,
    }
}

/// A fault with the nearest name, of the message "unknown field `X`, expected one of `a`, `b`"; `None` of others.
fn unknown(message: &str) -> Option<Fault> {
    let (kind, rest) = match message.strip_prefix("unknown field ") {
        Some(rest) => ("key", rest),
        None => ("value", message.strip_prefix("unknown variant ")?),
    };
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let name = quoted.next()?;
    let valid: Vec<&str> = quoted.collect();
    let fault = Fault::usage(format!("unknown {kind} `{}`", crosstalk_core::quoted(name)));
    Some(match nearest(name, valid.iter().copied()) {
        Some(near) => fault.remedy(format!("did you mean `{near}`?")),
        None => fault.remedy(format!("one of: {}", valid.join(", "))),
    })
}
