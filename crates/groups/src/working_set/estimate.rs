//! What the steps of a measurement say: whether to go on, and how much a group needs.
//!
//! A step pushes pages out, and waits. Whatever the group needs within that time comes back, so what it has afterwards
//! is enough. The rules here decide only when that is so; they scale nothing. One step is not enough: the kernel takes
//! pages in the order in which they became active, whether or not they are in use (`mm/vmscan.c`, shrink_active_list).
//! With those that it takes it moves up to half of the active pages to the list of inactive ones, which those in use
//! leave within the wait. After two steps each page has been there once, and the third takes unused ones if there are any.

use crosstalk_core::units::Bytes;
use serde::Serialize;

/// The share of pushed-out pages that come back if all of them are in use; the rest is noise of the counters.
const IN_USE: f64 = 0.75;
/// So many steps in a row must come back.
const CONFIRMED: usize = 3;
/// The share of the group's memory that may come back in all steps together.
const MOST_BACK: f64 = 0.25;
/// The share of the time in which some task may wait for memory in a step, beyond what it did before.
const MOST_WAITING: f64 = 0.1;
/// A step takes so small a share of what can be taken, but at least so many bytes: the counters are behind by less.
const STEPS: u64 = 20;
const LEAST_STEP: u64 = 1 << 20;

/// What a group has at a moment, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holding {
    /// All that is charged to it.
    pub memory: u64,
    /// What the kernel can take from it: file pages, and with swap all.
    pub takeable: u64,
}

/// What one step did.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Step {
    /// Bytes that were pushed out.
    pub pushed: u64,
    /// Bytes of these that came back during the wait.
    pub back: u64,
    /// The share of the time in which some task waited for memory, beyond what it did before.
    pub waiting: f64,
    /// What the group has afterwards.
    pub after: Holding,
}

/// Why a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// What is pushed out comes back.
    Needed,
    /// Too much came back, though not all of it.
    Budget,
    /// Its tasks waited for memory.
    Waiting,
    /// The rest cannot be taken: anonymous memory without swap, locked pages, the kernel's own memory.
    NothingLeft,
    /// Pages came back before any was pushed out: it needs more than it has.
    Short,
    /// It was interrupted.
    Interrupted,
}

/// Bytes to push out in a step.
pub fn step_size(start: Holding) -> u64 {
    (start.takeable / STEPS).max(LEAST_STEP)
}

/// Why to stop after these steps; `None`: go on.
pub fn stop(start: Holding, step: u64, steps: &[Step]) -> Option<Stop> {
    let left = steps.last().map_or(start.takeable, |last| last.after.takeable);
    let comes_back = |step: &Step| step.back as f64 >= IN_USE * step.pushed as f64;
    let back: u64 = steps.iter().map(|step| step.back).sum();
    let last = steps.last();
    if steps.len() >= CONFIRMED && steps[steps.len() - CONFIRMED..].iter().all(comes_back) {
        Some(Stop::Needed)
    } else if left <= step || last.is_some_and(|last| last.pushed < step / 4) {
        Some(Stop::NothingLeft)
    } else if last.is_some_and(|last| last.waiting > MOST_WAITING) {
        Some(Stop::Waiting)
    } else if back as f64 > MOST_BACK * start.memory as f64 {
        Some(Stop::Budget)
    } else {
        None
    }
}

/// The least and the most that the group needs. The most is what it has after its pages came back. Of what could still
/// be taken, at least the share is needed that came back of the last steps: the kernel takes the least used first.
pub fn bracket(start: Holding, steps: &[Step]) -> (Bytes, Bytes) {
    let end = steps.last().map_or(start, |last| last.after);
    let last = &steps[steps.len().saturating_sub(CONFIRMED)..];
    let sum = |of: fn(&Step) -> u64| last.iter().map(of).sum::<u64>();
    let (pushed, back) = (sum(|step| step.pushed), sum(|step| step.back));
    let share = if pushed == 0 { 0.0 } else { (back as f64 / pushed as f64).min(1.0) };
    let unproven = (end.takeable as f64 * (1.0 - share)) as u64;
    (Bytes(end.memory.saturating_sub(unproven)), Bytes(end.memory))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const START: Holding = Holding { memory: 200 * MIB, takeable: 160 * MIB };

    fn step(pushed: u64, back: u64, takeable: u64) -> Step {
        let after = Holding { memory: 40 * MIB + takeable * MIB, takeable: takeable * MIB };
        Step { pushed: pushed * MIB, back: back * MIB, waiting: 0.0, after }
    }

    fn after(steps: &[Step]) -> Option<Stop> {
        stop(START, step_size(START), steps)
    }

    #[test]
    fn it_goes_on_while_pages_stay_out() {
        assert_eq!(step_size(START), 8 * MIB);
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[step(8, 0, 152), step(8, 1, 145)]), None);
        assert_eq!(after(&[step(8, 8, 160)]), None, "others may be behind them");
        assert_eq!(after(&[step(8, 8, 160), step(8, 8, 160)]), None, "they are moved to the tail by these");
        assert_eq!(after(&[step(8, 8, 160), step(8, 0, 152), step(8, 8, 152), step(8, 8, 152)]), None);
    }

    #[test]
    fn it_ends_when_three_steps_come_back() {
        let steps = [step(8, 0, 152), step(8, 8, 151), step(8, 7, 151), step(8, 8, 151)];
        assert_eq!(after(&steps), Some(Stop::Needed));
        let (low, high) = bracket(START, &steps);
        assert_eq!(high, Bytes(191 * MIB), "what it has then is enough");
        assert_eq!(low.0 / MIB, 184, "a 24th of what was taken last stayed out");
    }

    #[test]
    fn disturbance_is_bounded() {
        let half = [step(8, 4, 150); 13];
        assert_eq!((after(&half[..12]), after(&half)), (None, Some(Stop::Budget)));
        let (low, high) = bracket(START, &half);
        assert_eq!((low, high), (Bytes(115 * MIB), Bytes(190 * MIB)), "half of the rest may be unused");
        let waits = Step { waiting: 0.2, ..step(8, 4, 150) };
        assert_eq!(after(&[waits]), Some(Stop::Waiting));
    }

    #[test]
    fn what_cannot_be_taken_is_needed() {
        let anonymous = Holding { memory: 100 * MIB, takeable: MIB };
        assert_eq!(stop(anonymous, step_size(anonymous), &[]), Some(Stop::NothingLeft));
        assert_eq!(bracket(anonymous, &[]), (Bytes(99 * MIB), Bytes(100 * MIB)));
        assert_eq!(after(&[step(1, 0, 100)]), Some(Stop::NothingLeft), "locked pages");
    }
}
