//! The parts of a node's time, and their names for people.

/// The prefix of metrics that are parts of a node's time.
pub const TIME_PREFIX: &str = "time_";
/// The part in which a node waits.
pub const WAIT: &str = "wait";
/// The part of a node's time that no other part accounts for.
pub const OTHER: &str = "other";

/// What a caption says where it shows estimates of parts.
pub const PARTS_ADD_UP: &str = "Parts add up in each run; their estimates over all runs need not.";

/// A part of a node's time in words, by its metric's name without [`TIME_PREFIX`].
pub fn part_in_words(part: &str) -> String {
    match part {
        "compute" => "computing".into(),
        WAIT => "waiting".into(),
        "serialise" => "serialising".into(),
        "spill" => "spilling".into(),
        "queue" => "waiting for a processor".into(),
        OTHER => "not accounted for".into(),
        named => named.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_says_what_is_queued_for() {
        assert_eq!(part_in_words("queue"), "waiting for a processor");
        assert_eq!(part_in_words("disk_wait"), "disk wait");
    }
}
