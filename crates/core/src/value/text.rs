//! Text, together with the quantity that it says, which is parsed once.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use crate::units::Amount;

/// Text as it was written. For a number with a unit (`"4 KiB"`) also the quantity.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Text {
    written: String,
    amount: Option<Amount>,
}

impl Text {
    /// The size, time, rate or frequency, if the text says one.
    pub fn amount(&self) -> Option<Amount> {
        self.amount
    }
}

impl From<String> for Text {
    fn from(written: String) -> Self {
        Text { amount: Amount::parse(&written), written }
    }
}

impl From<&str> for Text {
    fn from(written: &str) -> Self {
        written.to_string().into()
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.written
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.written
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.written == other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)
    }
}

impl JsonSchema for Text {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
