//! Parameters, with typed look-ups. Their faults say what was expected.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Value;
use crate::parameter::Parameters;
use crate::quote::number;
use crate::units::{Amount, Bytes, LARGEST, Seconds};
use crate::{Fault, quoted};

/// The parameters of a workload, by name. The faults of look-ups are usage faults that
/// name the parameter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Params(pub BTreeMap<String, Value>);

impl Params {
    /// The value of a parameter, if it was given.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// A copy with `name` set.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_string(), value.into());
        self
    }

    /// Refuses parameters that `known` does not list.
    pub fn refuse_unknown(&self, known: Parameters) -> Result<(), Fault> {
        match self.0.keys().find(|k| !known.contains(k)) {
            Some(key) => Err(crate::name::unknown("parameter", key, known.names())),
            None => Ok(()),
        }
    }

    /// A whole number of at least `least` [default: `default`].
    pub fn count(&self, name: &str, default: u64, least: u64) -> Result<u64, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Int(v)) if *v >= 0 && *v as u64 >= least => Ok(*v as u64),
            Some(other) => Err(wrong(name, &format!("a whole number of at least {least}"), other)),
        }
    }

    /// A whole number from `least` to `most` [default: `default`].
    pub fn bounded(&self, name: &str, default: u64, least: u64, most: u64) -> Result<u64, Fault> {
        match self.count(name, default, least)? {
            value if value > most => {
                Err(parameter_fault(name, format!("expected at most {most}, found {value}")))
            }
            value => Ok(value),
        }
    }

    /// A path, if one was given.
    pub fn path(&self, name: &str) -> Result<Option<PathBuf>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(path)) if !path.is_empty() => Ok(Some(PathBuf::from(&**path))),
            Some(other) => Err(wrong(name, "a path", other)),
        }
    }

    /// A finite number [default: `default`].
    pub fn float(&self, name: &str, default: f64) -> Result<f64, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(v) => v.number().filter(|n| n.is_finite()).ok_or_else(|| wrong(name, "a finite number", v)),
        }
    }

    /// `true` or `false` [default: `default`].
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(v)) => Ok(*v),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }

    /// Text [default: `default`].
    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> Result<&'a str, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Text(v)) => Ok(v),
            Some(other) => Err(wrong(name, "text", other)),
        }
    }

    /// One of `choices` [default: the first].
    pub fn choice<'a>(&'a self, name: &str, choices: &[&'a str]) -> Result<&'a str, Fault> {
        let chosen = self.text(name, choices[0])?;
        if choices.contains(&chosen) {
            Ok(chosen)
        } else {
            Err(crate::name::unknown(name, chosen, choices.iter().copied()))
        }
    }

    /// A size above zero (`"64 B"`, `"4 KiB"`, `65536` bytes) [default: `default`].
    pub fn size(&self, name: &str, default: Bytes) -> Result<Bytes, Fault> {
        let size = match self.get(name) {
            None => default,
            Some(Value::Int(v)) if *v > 0 => Bytes(*v as u64),
            Some(Value::Float(v)) if *v >= LARGEST => {
                return Err(wrong(name, "a size below 8 EiB", &Value::Float(*v)));
            }
            Some(Value::Float(v)) if *v > 0.0 && v.fract() == 0.0 => Bytes(*v as u64),
            Some(Value::Text(text)) => match text.amount() {
                Some(Amount::Size(size)) => size,
                // Parsed for its fault.
                _ => text.parse().map_err(|f: Fault| f.of_parameter(name))?,
            },
            Some(other) => return Err(wrong(name, "a size above zero, such as \"64 B\"", other)),
        };
        if size.0 == 0 {
            return Err(wrong(name, "a size above zero", &Value::Int(0)));
        }
        Ok(size)
    }

    /// A duration (`"200 ms"`, `0.2` seconds) [default: `default`].
    pub fn seconds(&self, name: &str, default: Seconds) -> Result<Seconds, Fault> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Text(text)) => match text.amount() {
                Some(Amount::Time(time)) => Ok(time),
                _ => text.parse().map_err(|f: Fault| f.of_parameter(name)),
            },
            Some(v) => match v.number() {
                Some(n) if n > 0.0 && n.is_finite() => Ok(Seconds(n)),
                _ => Err(wrong(name, "a duration above zero, such as \"200 ms\"", v)),
            },
        }
    }
}

/// A usage fault about the parameter `name`.
pub fn parameter_fault(name: &str, message: String) -> Fault {
    Fault::usage(message).of_parameter(name)
}

fn wrong(name: &str, expected: &str, found: &Value) -> Fault {
    let found = match found {
        Value::Float(v) if v.abs() >= 1e15 => number(*v),
        other => quoted(other.to_string()),
    };
    parameter_fault(name, format!("expected {expected}, found `{found}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameter::Parameter;

    #[test]
    fn sizes_of_zero_or_below_are_refused() {
        for bad in [Value::Int(0), Value::Int(-4), Value::Text("0 B".into())] {
            let params = Params::default().with("size", "x");
            let params = Params(params.0.into_keys().map(|k| (k, bad.clone())).collect());
            let fault = params.size("size", Bytes(1)).expect_err("refused");
            assert!(fault.to_string().contains("above zero"), "{fault}");
        }
    }

    #[test]
    fn a_size_beyond_all_memories_is_refused_with_the_bound() {
        let size = |value: f64| Params::default().with("size", value).size("size", Bytes(1));
        assert_eq!(size(1e3), Ok(Bytes(1000)));
        let fault = size(1e30).expect_err("refused");
        assert_eq!(fault.message, "expected a size below 8 EiB, found `1e30`");
    }

    #[test]
    fn an_unknown_parameter_names_the_nearest() {
        let params = Params::default().with("slavs", 4);
        const KNOWN: Parameters =
            Parameters(&[&[Parameter::new("slaves", "1", ""), Parameter::new("iterations", "3", "")]]);
        let fault = params.refuse_unknown(KNOWN).expect_err("refused");
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `slaves`?"));
    }
}
