//! Names of groups in a line.

use crosstalk_groups::GroupName;

/// The most names that a line has.
const NAMED: usize = 4;

/// The first names, and how many more there are.
pub fn several(names: &[GroupName]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(GroupName::as_str).collect();
    match names.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}
