//! What the parts of a time are called, wherever people read of them.

/// Metrics that are parts of a node's time begin so.
pub const TIME: &str = "time_";
/// The part that is not work.
pub const WAIT: &str = "wait";
/// What no part accounts for.
pub const OTHER: &str = "other";

/// A part of a node's time (`time_queue` without `time_`) in words.
pub fn words(part: &str) -> String {
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
        assert_eq!(words("queue"), "waiting for a processor");
        assert_eq!(words("disk_wait"), "disk wait");
    }
}
