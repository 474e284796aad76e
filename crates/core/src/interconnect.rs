//! The hardware between two programs: components with their latencies, and
//! interconnects, which are paths through components.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use crate::fabric::Source;
use crate::units::{BitRate, Seconds, digits};
use crate::{Fault, quoted};

/// A part of a path that takes time: a memory access, a network card, a cable, a switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// A line for people.
    pub title: String,
    /// The least time that a message's head takes to pass it. For a cable: to pass one metre.
    pub low: Seconds,
    /// The most time; absent if the source says "and up".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Seconds>,
    /// How it forwards a message.
    #[serde(default)]
    pub kind: ComponentKind,
    /// The metric that measures this time, such as `load_time[size=268435456]`.
    /// `crosstalk path --measured` replaces `low` and `high` by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<String>,
    /// The source of the times.
    pub source: Source,
}

/// How a component forwards a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentKind {
    /// The message passes in the component's time.
    #[default]
    Passes,
    /// The message passes a line; the component's times are those of one metre.
    Cable,
    /// The head is forwarded before the tail has arrived. Messages may queue.
    CutThrough,
    /// The whole message is received before it is forwarded. Messages may queue.
    StoreAndForward,
}

impl ComponentKind {
    /// Whether messages can queue in such a component.
    pub fn has_queue(self) -> bool {
        matches!(self, ComponentKind::CutThrough | ComponentKind::StoreAndForward)
    }
}

/// A file of `components/`: components that belong together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Components {
    /// Name → component.
    pub component: BTreeMap<String, Component>,
}

/// A network technology between two programs, as a path through components: one file of
/// `interconnects/`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interconnect {
    /// Its name on the command line: the file's name without `.toml`.
    #[serde(default)]
    pub name: String,
    /// For people.
    pub title: String,
    /// The data rate of its links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<BitRate>,
    /// How many nodes it connects, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nodes: String,
    /// The components from the sender to the receiver, by name. A cable has its length: `cable 5 m`.
    pub path: Vec<Hop>,
    /// The id of the published latency of the whole path, without `/low` and `/high`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The source of the path, and what of it is assumed.
    pub source: Source,
}

/// A component on the path of an interconnect, with a cable's length.
#[derive(Debug, Clone, PartialEq)]
pub struct Hop {
    /// The component's name.
    pub component: String,
    /// The length in metres, for cables only.
    pub length: Option<f64>,
}

/// The largest length in metres: longer than any line on Earth.
const LONGEST: f64 = 1e8;

impl FromStr for Hop {
    type Err = Fault;

    /// Reads `pcie-fabric-switch`, `cable 5 m`.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let wrong = || {
            Fault::usage(format!(
                "expected a component, or a cable with its length, found `{}`",
                quoted(text)
            ))
            .remedy("write for example \"pcie-fabric-switch\" or \"cable 5 m\"")
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (component, length) = match words[..] {
            [component] => (component, None),
            [component, length, "m"] => (component, Some(length)),
            [component, length] => (component, Some(length.strip_suffix('m').ok_or_else(wrong)?)),
            _ => return Err(wrong()),
        };
        let length = match length.map(str::parse::<f64>) {
            None => None,
            Some(Ok(metres)) if (0.0..=LONGEST).contains(&metres) => Some(metres),
            Some(_) => return Err(wrong()),
        };
        Ok(Hop { component: component.to_string(), length })
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            None => f.write_str(&self.component),
            Some(metres) => write!(f, "{} {metres} m", self.component),
        }
    }
}

impl Hop {
    /// The hop for people: `cable, 5 m`.
    pub fn describe(&self, component: &Component) -> String {
        match self.length {
            None => component.title.clone(),
            Some(metres) => format!("{}, {} m", component.title, digits(metres)),
        }
    }

    /// Checks the hop's length against its `component`.
    ///
    /// # Errors
    /// A usage fault if a cable has no length, or another component has one.
    pub fn check_length(&self, component: &Component) -> Result<(), Fault> {
        let name = &self.component;
        match (component.kind == ComponentKind::Cable, self.length) {
            (true, None) => Err(Fault::usage(format!("`{name}` has no length"))
                .remedy(format!("write for example \"{name} 5 m\""))),
            (false, Some(_)) => Err(Fault::usage(format!("`{name}` is no cable, and has no length"))
                .remedy(format!("write \"{name}\""))),
            _ => Ok(()),
        }
    }
}

impl Serialize for Hop {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hop {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Hop {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hop".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "a component by name; a cable with its length, such as \"cable 5 m\"",
            "type": "string"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hop_is_a_name_and_for_a_cable_a_length() {
        let hop = |text: &str| text.parse::<Hop>().map(|hop| (hop.component, hop.length));
        assert_eq!(hop("qpi-hop"), Ok(("qpi-hop".into(), None)));
        for five in ["cable 5 m", "cable 5m", " cable  5.0 m "] {
            assert_eq!(hop(five), Ok(("cable".into(), Some(5.0))), "{five}");
        }
        for bad in ["", "cable 5", "cable five m", "cable -1 m", "cable nan m", "cable 1e9 m", "a b c d"] {
            let fault = hop(bad).expect_err(bad);
            assert!(fault.remedy.is_some(), "{fault}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in ["qpi-hop", "cable 5 m", "cable 0.5 m"] {
            assert_eq!(text.parse::<Hop>().expect("reads").to_string(), text);
        }
    }

    #[test]
    fn only_cables_have_a_length() {
        let source = Source { text: "a test".into(), ..Source::default() };
        let component = |kind| Component {
            title: "C".into(),
            low: Seconds(0.0),
            high: None,
            kind,
            measured: None,
            source: source.clone(),
        };
        let hop = |text: &str| text.parse::<Hop>().expect("reads");
        assert!(hop("c 5 m").check_length(&component(ComponentKind::Cable)).is_ok());
        assert!(hop("c").check_length(&component(ComponentKind::Cable)).is_err());
        assert!(hop("c 5 m").check_length(&component(ComponentKind::CutThrough)).is_err());
        assert!(hop("c").check_length(&component(ComponentKind::Passes)).is_ok());
    }
}
