//! The values of factors, parameters and labels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::units::Amount;

mod params;
mod text;

pub use params::{Params, parameter_fault};
pub use text::Text;

/// One value in a study file. Two values are equal if they mean the same: `4096` and `4096.0`, `"4 KiB"` and
/// `"4096 B"`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Text, with or without a unit.
    Text(Text),
    /// Several values, in order.
    List(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(v) => write!(f, "{v}"),
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v}"),
            Value::Text(v) => f.write_str(v),
            Value::List(v) => {
                let parts: Vec<_> = v.iter().map(ToString::to_string).collect();
                f.write_str(&parts.join(" "))
            }
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Self {
        Value::Int(v)
    }
}
impl From<f64> for Value {
    fn from(v: f64) -> Self {
        Value::Float(v)
    }
}
impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Value::Bool(v)
    }
}
impl From<&str> for Value {
    fn from(v: &str) -> Self {
        Value::Text(v.into())
    }
}
impl From<String> for Value {
    fn from(v: String) -> Self {
        Value::Text(v.into())
    }
}

impl Value {
    /// The value of a word on a command line: a boolean or a number if it reads as
    /// one, else text.
    pub fn from_word(word: &str) -> Value {
        if let Ok(v) = word.parse() {
            return Value::Bool(v);
        }
        if let Ok(v) = word.parse() {
            return Value::Int(v);
        }
        match word.parse::<f64>() {
            Ok(v) if v.is_finite() => Value::Float(v),
            _ => word.into(),
        }
    }

    /// The number, if it is one without a unit.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(v) => Some(*v as f64),
            Value::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// The size, time, rate or frequency, if it is text that says one.
    pub fn amount(&self) -> Option<Amount> {
        match self {
            Value::Text(text) => text.amount(),
            _ => None,
        }
    }

    /// Its number in base units, if finite, and the base unit (`B`, `s`, `bit/s`, `Hz`, or empty).
    pub fn in_base_unit(&self) -> Option<(f64, &'static str)> {
        let amount = self.amount().map(|amount| (amount.number(), amount.unit()));
        amount.or_else(|| Some((self.number()?, ""))).filter(|(number, _)| number.is_finite())
    }
}

/// The meaning of a value, by which values are compared.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Meaning<'a> {
    Truth(bool),
    Number(Number),
    Amount(&'static str, Number),
    Word(&'a str),
    List(&'a [Value]),
}

/// A number, in numeric order.
enum Number {
    Whole(i64),
    Fractional(f64),
}

impl Number {
    /// A whole number that `i64` holds exactly becomes [`Number::Whole`].
    fn of(value: f64) -> Number {
        let exact = value.fract() == 0.0 && value.abs() < i64::MAX as f64;
        if exact { Number::Whole(value as i64) } else { Number::Fractional(value) }
    }

    fn value(&self) -> f64 {
        match self {
            Number::Whole(value) => *value as f64,
            Number::Fractional(value) => *value,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(b),
            (a, b) => a.value().total_cmp(&b.value()),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value().to_bits().hash(state);
    }
}

impl Value {
    fn meaning(&self) -> Meaning<'_> {
        match self {
            Value::Bool(truth) => Meaning::Truth(*truth),
            Value::Int(whole) => Meaning::Number(Number::Whole(*whole)),
            Value::Float(value) => Meaning::Number(Number::of(*value)),
            Value::Text(text) => match text.amount() {
                Some(amount) => Meaning::Amount(amount.unit(), Number::of(amount.number())),
                None => Meaning::Word(text),
            },
            Value::List(values) => Meaning::List(values),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.meaning().cmp(&other.meaning())
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning().hash(state);
    }
}

/// The levels of a cell: factor → level.
pub type Levels = BTreeMap<String, Value>;

/// Levels for people: `slaves 4, boards many`.
pub fn describe_levels(levels: &Levels) -> String {
    let parts: Vec<_> = levels.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_values_they_read_as() {
        assert_eq!(Value::from_word("4"), Value::Int(4));
        assert_eq!(Value::from_word("0.5"), Value::Float(0.5));
        assert_eq!(Value::from_word("true"), Value::Bool(true));
        assert_eq!(Value::from_word("1 MB"), Value::Text("1 MB".into()));
        assert_eq!(Value::from_word("nan"), Value::Text("nan".into()));
    }

    #[test]
    fn values_that_mean_the_same_are_equal() {
        let text = |text: &str| Value::from(text);
        assert_eq!(Value::Int(4096), Value::Float(4096.0));
        assert_eq!(text("4 KiB"), text("4096 B"));
        assert_eq!(text("200 ms"), text("0.2 s"));
        assert_eq!(Value::Float(0.0), Value::Float(-0.0));
        assert_ne!(text("4 KiB"), Value::Int(4096), "a size is not a bare number");
        assert_ne!(text("1 s"), text("1 B"));
        assert_ne!(text("one"), text("many"));
        assert_ne!(Value::Int(i64::MAX), Value::Int(i64::MAX - 1));
        assert_eq!(Value::List(vec![1.into()]), Value::List(vec![1.0.into()]));
    }

    #[test]
    fn values_are_ordered_by_their_meaning() {
        let mut sizes = ["1 MiB", "64 B", "4 KiB", "8 kB"].map(Value::from);
        sizes.sort();
        assert_eq!(sizes.map(|size| size.to_string()), ["64 B", "4 KiB", "8 kB", "1 MiB"]);
        let mut numbers = [Value::Int(10), Value::Float(2.5), Value::Int(-1)];
        numbers.sort();
        assert_eq!(numbers, [Value::Int(-1), Value::Float(2.5), Value::Int(10)]);
    }

    #[test]
    fn a_value_is_written_as_it_was_read() {
        for text in ["\"4096 B\"", "\"0.2 s\"", "4096.0", "4096", "\"none\"", "[\"-s\",\"1 MB\"]"] {
            let value: Value = serde_json::from_str(text).expect("reads");
            assert_eq!(serde_json::to_string(&value).expect("is written"), text);
        }
    }
}
