//! How a factor is read: a list of levels, or a table that says how they are
//! come by. Read by hand so that a wrong key in the table is named.

use crate::file::{Factor, FactorSpec};
use crosstalk_core::value::Value;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The factor that makes no difference: cells that differ in it alone are equal.
pub const EQUAL: &str = "aa";

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
    /// The levels that are listed.
    pub fn levels(&self) -> &[Value] {
        match self {
            Factor::Listed(levels) => levels,
            Factor::Detailed(spec) => &spec.levels,
        }
    }

    /// Its details, if it has any.
    pub fn detail(&self) -> Option<&FactorSpec> {
        match self {
            Factor::Listed(_) => None,
            Factor::Detailed(spec) => Some(spec),
        }
    }

    /// Whether its levels are costly to change.
    pub fn hard(&self) -> bool {
        self.detail().is_some_and(|spec| spec.hard)
    }

    /// Whether its levels are known from the file alone.
    pub fn listed(&self) -> bool {
        self.detail().is_none_or(|spec| spec.discover.is_none() && spec.from.is_none())
    }

    /// Every level that a claim may name, whether it is run or left out.
    pub fn named(&self) -> impl Iterator<Item = &Value> {
        let left_out = self.detail().map_or(&[][..], |spec| &spec.left_out);
        self.levels().iter().chain(left_out)
    }

    /// A copy that runs `levels` instead; the ones it had stay known to claims.
    #[must_use]
    pub fn with_levels(&self, levels: Vec<Value>) -> Factor {
        let left_out = self.named().filter(|level| !levels.contains(level)).cloned().collect();
        let hard = self.hard();
        let best = self.detail().is_some_and(|spec| spec.best);
        Factor::Detailed(FactorSpec { levels, left_out, hard, best, discover: None, from: None })
    }
}
