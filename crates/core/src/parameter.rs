//! The parameters that a workload takes, as its users read of them.

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// As it is written in a study.
    pub name: &'static str,
    /// What holds where it is not given, for people; empty: nothing.
    pub default: &'static str,
    /// What it says, with its unit.
    pub meaning: &'static str,
}

impl Parameter {
    /// A row of a table: name, default, meaning.
    pub const fn new(name: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Parameter { name, default, meaning }
    }
}

/// All that a workload takes, in groups: its own, and those it shares with others.
#[derive(Debug, Clone, Copy)]
pub struct Parameters(pub &'static [&'static [Parameter]]);

impl Parameters {
    /// Every one, in the order of the groups.
    pub fn iter(self) -> impl Iterator<Item = &'static Parameter> + Clone {
        self.0.iter().copied().flatten()
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        self.iter().map(|parameter| parameter.name)
    }

    /// Whether one is called so.
    pub fn contains(self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}
