//! Names that people type. The fault of an unknown name suggests the nearest valid one.

use crate::{Fault, quoted};

/// The candidate with the smallest edit distance to `name`, if that distance is small: at most two, or a third of the
/// candidate, and at most half of the shorter name. So nothing is near to a letter or two.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&name.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(distance, c)| {
            let shorter = name.chars().count().min(c.chars().count());
            *distance <= 2.max(c.chars().count() / 3) && 2 * distance <= shorter
        })
        .min()
        .map(|(_, c)| c)
}

/// The most candidates that begin with a name and are suggested.
const MOST_LONGER: usize = 4;

/// A usage fault: there is no `kind` called `name`. Its remedy is the nearest candidate, or the few that begin with the name,
/// or else all candidates. Without candidates it has no remedy.
pub fn unknown<'a>(kind: &str, name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Fault {
    let fault = Fault::usage(format!("unknown {kind} `{}`", quoted(name)));
    match nearest(name, candidates.clone()) {
        Some(near) => fault.remedy(format!("did you mean `{near}`?")),
        None => {
            let all: Vec<_> = candidates.into_iter().collect();
            if all.is_empty() {
                return fault;
            }
            let longer = all.iter().filter(|candidate| name.len() > 2 && candidate.starts_with(name));
            let longer: Vec<String> = longer.map(|candidate| format!("`{candidate}`")).collect();
            if (1..=MOST_LONGER).contains(&longer.len()) {
                return fault.remedy(format!("did you mean {}?", longer.join(" or ")));
            }
            fault.remedy(format!("one of: {}", all.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_gets_the_nearest_name() {
        let fault = unknown("fabric", "ethernet-1gb", ["ethernet-1g", "ethernet-10g", "srio"]);
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `ethernet-1g`?"));
    }

    #[test]
    fn short_names_are_near_if_most_of_them_is_the_same() {
        for (name, candidate) in [("x", "db"), ("x", "a"), ("ab", "cd"), ("lab", "web")] {
            assert_eq!(nearest(name, [candidate]), None, "{name}");
        }
        for (name, candidate) in [("lap", "lab"), ("bd", "db"), ("lb", "lab"), ("ana", "anna")] {
            assert_eq!(nearest(name, [candidate]), Some(candidate), "{name}");
        }
    }

    #[test]
    fn the_begin_of_names_gets_those_names() {
        let systems = ["kosmos-ethernet", "kosmos-srio", "microblade"];
        let fault = unknown("system", "kosmos", systems);
        assert_eq!(fault.remedy.as_deref(), Some("did you mean `kosmos-ethernet` or `kosmos-srio`?"));
        let fault = unknown("system", "k", systems);
        assert_eq!(fault.remedy.as_deref(), Some("one of: kosmos-ethernet, kosmos-srio, microblade"));
    }

    #[test]
    fn a_name_unlike_all_others_gets_them_all() {
        let fault = unknown("fabric", "zzzzzzz", ["srio", "qpi"]);
        assert_eq!(fault.remedy.as_deref(), Some("one of: srio, qpi"));
    }
}
