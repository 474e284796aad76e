//! The stages of one exchange in time.

use crosstalk_core::trace::Side;
use crosstalk_observe::service::{Exchange, Stamp};

use super::split::for_each_stage;
use super::stages::stage_ending_at;

/// A stage of one exchange, with its beginning and end, for a timeline.
pub struct Slice {
    /// Where it is.
    pub side: Side,
    /// Its name. The service is one stage here.
    pub name: &'static str,
    /// When it began, in nanoseconds.
    pub from: u64,
    /// When it ended.
    pub to: u64,
}

/// The stages of an exchange; none where it was not followed from end to end.
pub fn slices(exchange: &Exchange) -> Vec<Slice> {
    let mut slices = Vec::new();
    let walked = for_each_stage(exchange, |which, from, to| {
        let (side, name) = match Stamp::ALL.get(which + 1) {
            Some(Stamp::Answer) => (Side::Server, "service"),
            Some(stamp) => stage_ending_at(*stamp),
            None => (Side::Unexplained, "unexplained"),
        };
        slices.push(Slice { side, name, from, to });
    });
    if walked.is_ok() { slices } else { Vec::new() }
}
