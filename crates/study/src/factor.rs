//! Reads a factor: a list of levels, or a table with their source and properties. It is read by hand so that a fault names
//! the wrong key of the table.

use crate::file::{Factor, FactorSpec};
use crosstalk_core::value::Value;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The name of the factor that changes nothing: cells that differ in it alone are equal.
pub const AA_FACTOR: &str = "aa";

impl<'de> Deserialize<'de> for Factor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrTable)
    }
}

struct ListOrTable;

impl<'de> Visitor<'de> for ListOrTable {
    type Value = Factor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of levels, or a table such as { levels = [1, 2], hard = true }")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Factor, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Factor::Listed)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Factor, A::Error> {
        FactorSpec::deserialize(MapAccessDeserializer::new(map)).map(Factor::Detailed)
    }
}

impl Factor {
    /// The levels that the study file lists.
    pub fn levels(&self) -> &[Value] {
        match self {
            Factor::Listed(levels) => levels,
            Factor::Detailed(spec) => &spec.levels,
        }
    }

    /// Its details in the study file; `None` for a plain list of levels.
    pub fn spec(&self) -> Option<&FactorSpec> {
        match self {
            Factor::Listed(_) => None,
            Factor::Detailed(spec) => Some(spec),
        }
    }

    /// Whether its levels are costly to change.
    pub fn is_hard_to_change(&self) -> bool {
        self.spec().is_some_and(|spec| spec.hard)
    }

    /// Whether its levels are known from the file alone.
    pub fn has_listed_levels(&self) -> bool {
        self.spec().is_none_or(|spec| spec.discover.is_none() && spec.from.is_none())
    }

    /// Every level that a claim may name, run or left out.
    pub fn nameable_levels(&self) -> impl Iterator<Item = &Value> {
        let left_out = self.spec().map_or(&[][..], |spec| &spec.left_out);
        self.levels().iter().chain(left_out)
    }

    /// A copy with `levels` instead. Claims may still name the former ones.
    #[must_use]
    pub fn with_levels(&self, levels: Vec<Value>) -> Factor {
        let left_out = self.nameable_levels().filter(|level| !levels.contains(level)).cloned().collect();
        let hard = self.is_hard_to_change();
        let best = self.spec().is_some_and(|spec| spec.best);
        Factor::Detailed(FactorSpec { levels, left_out, hard, best, discover: None, from: None })
    }
}
