//! Names of groups on the command line and in what is printed.

use crosstalk_core::Fault;
use crosstalk_groups::GroupName;

/// The most names that a line has.
const NAMED: usize = 4;

/// The names as they are written.
pub fn parse(names: &[String]) -> Result<Vec<GroupName>, Fault> {
    names.iter().map(|name| name.parse()).collect()
}

/// The first of them, and how many more there are.
pub fn several(names: &[GroupName]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(GroupName::as_str).collect();
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
