//! The parameters of workloads, with their documentation.

/// One parameter that a workload declares: name, default and meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in a study file.
    pub name: &'static str,
    /// The default, for people. Empty: there is none.
    pub default: &'static str,
    /// Its meaning, with the unit.
    pub meaning: &'static str,
}

impl Parameter {
    /// A row of a table: name, default, meaning.
    pub const fn new(name: &'static str, default: &'static str, meaning: &'static str) -> Self {
        Parameter { name, default, meaning }
    }
}

/// All parameters of a workload, in groups: its own, and those shared with other workloads.
#[derive(Debug, Clone, Copy)]
pub struct Parameters(pub &'static [&'static [Parameter]]);

impl Parameters {
    /// All parameters, in the order of the groups.
    pub fn iter(self) -> impl Iterator<Item = &'static Parameter> + Clone {
        self.0.iter().copied().flatten()
    }

    /// The names of all parameters.
    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        self.iter().map(|parameter| parameter.name)
    }

    /// Whether there is a parameter of that name.
    pub fn contains(self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}
