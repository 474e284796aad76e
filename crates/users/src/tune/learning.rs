//! From the first runs to what users need, and to what stays unknown.

use crosstalk_core::units::{Bytes, human};

use super::need::{AloneUser, Needs, NeedsGap};
use super::run::Ending;
use super::runner::RunData;

/// An equal share, if nothing better is known.
const EQUAL_SHARE: &str = "that they need an equal share of the memory each, and do not stream";

/// Each user, of a run in which each was alone; none if the run did not end well.
pub fn users_alone(ending: &Ending<RunData>) -> &[AloneUser] {
    match ending {
        Ending::Done { more, .. } => &more.alone,
        Ending::Cut(_) | Ending::Killed(_) => &[],
    }
}

/// What `users` need who share `memory`, by the run with a group each, and the one in which those who need more had what
/// the others leave.
pub fn needs(
    users: usize,
    memory: Bytes,
    first: &Ending<RunData>,
    second: Option<&Ending<RunData>>,
) -> (Needs, Option<NeedsGap>) {
    let shown = users_alone(first);
    if shown.len() != users {
        let why = format!("the run with a group each {}", ended(first));
        let gap = NeedsGap { users: (0..users).collect(), why, assumed: EQUAL_SHARE.into() };
        return (Needs::unknown(users, memory), Some(gap));
    }
    let again = second.map(users_alone).filter(|again| again.len() == users);
    let needs = Needs::learn(shown, again);
    let has_peaks = shown.iter().all(|user| user.peak.is_some());
    let needs_more_again = |user: usize| again.is_none_or(|again| again[user].needs_more());
    let is_open = |user: &usize| {
        !needs.streams[*user] && (!has_peaks || shown[*user].needs_more() && needs_more_again(*user))
    };
    let open: Vec<usize> = (0..users).filter(is_open).collect();
    let (why, assumed) = match (second, again) {
        _ if !has_peaks => (
            "the kernel keeps no peak of a group's memory (memory.peak takes Linux 5.19)".into(),
            "that they need what their group was limited to",
        ),
        (_, Some(_)) => (
            "they filled what the others left, too".into(),
            "that they need as much as they had then, which is the least that they need",
        ),
        (Some(second), None) => {
            (format!("the run in which they had what the others leave {}", ended(second)), EQUAL_SHARE)
        }
        (None, None) => (
            "every user filled an equal share of the memory, so that no run shows who would use more".into(),
            EQUAL_SHARE,
        ),
    };
    let gap = (!open.is_empty()).then(|| NeedsGap { users: open, why, assumed: assumed.into() });
    (needs, gap)
}

/// How a run ended that shows nothing.
fn ended(ending: &Ending<RunData>) -> String {
    match ending {
        Ending::Done { .. } => "has no counts of each group".into(),
        Ending::Cut(cap) => format!("was cut off after {}", human(*cap, "s")),
        Ending::Killed(group) => format!("ran out of memory in group `{group}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_counts::RunCounts;
    use super::*;

    const MIB: u64 = 1 << 20;
    const MEMORY: Bytes = Bytes(64 * MIB);

    /// A run of users with these limits, peaks and bytes read, in mebibytes.
    fn done(users: &[(u64, u64, u64)]) -> Ending<RunData> {
        let user = |(limit, peak, read): &(u64, u64, u64)| AloneUser {
            limit: limit * MIB,
            peak: Some(peak * MIB),
            read: read * MIB,
            seconds: 1.0,
        };
        let alone = users.iter().map(user).collect();
        Ending::Done { makespan: 1.0, more: RunData { counts: RunCounts::default(), alone } }
    }

    #[test]
    fn what_is_learnt_of_all_has_no_gap() {
        let (needs, gap) = needs(2, MEMORY, &done(&[(32, 10, 10), (32, 20, 20)]), None);
        assert_eq!((needs.bytes, gap), (vec![11 * MIB, 22 * MIB], None));
        let first = done(&[(32, 10, 10), (32, 32, 200)]);
        assert_eq!(
            super::needs(2, MEMORY, &first, Some(&done(&[(11, 10, 10), (53, 40, 40)]))).1,
            None,
            "it fits"
        );
        let second = done(&[(11, 10, 10), (53, 53, 200)]);
        assert_eq!(super::needs(2, MEMORY, &first, Some(&second)).1, None, "it streams");
    }

    #[test]
    fn without_peaks_only_streamers_are_known() {
        let without = |ending: Ending<RunData>| match ending {
            Ending::Done { makespan, mut more } => {
                more.alone.iter_mut().for_each(|user| user.peak = None);
                Ending::Done { makespan, more }
            }
            other => other,
        };
        let first = without(done(&[(32, 10, 10), (32, 32, 200)]));
        let second = without(done(&[(32, 10, 10), (32, 32, 200)]));
        let (needs, gap) = needs(2, MEMORY, &first, Some(&second));
        let gap = gap.expect("no peaks");
        assert_eq!((&needs.streams[..], &gap.users[..]), (&[false, true][..], &[0][..]));
        assert!(needs.bytes[0] == 32 * MIB && gap.why.contains("memory.peak"), "{gap:?}");
    }

    #[test]
    fn a_first_run_that_fails_leaves_all_unknown() {
        for (ending, said) in
            [(Ending::Cut(12.0), "cut off after 12.0 s"), (Ending::Killed("tuned/g1".into()), "`tuned/g1`")]
        {
            let (needs, gap) = needs(2, MEMORY, &ending, None);
            let gap = gap.expect("nothing is known");
            assert_eq!((needs, gap.users), (Needs::unknown(2, MEMORY), vec![0, 1]));
            assert!(gap.why.contains(said) && gap.assumed.contains("equal share"), "{}", gap.why);
        }
    }

    #[test]
    fn those_who_need_more_may_stay_unknown() {
        let first = done(&[(32, 10, 10), (32, 32, 72)]);
        let (needs, gap) = needs(2, MEMORY, &first, Some(&Ending::Cut(3.0)));
        let gap = gap.expect("one is unknown");
        assert_eq!((needs.bytes[1], gap.users), (32 * MIB, vec![1]));
        assert!(gap.why.ends_with("what the others leave was cut off after 3.00 s"), "{}", gap.why);
        let second = done(&[(11, 10, 10), (53, 53, 60 + 20)]);
        let slower = match second {
            Ending::Done { makespan, mut more } => {
                more.alone[1].seconds = 10.0;
                Ending::Done { makespan, more }
            }
            other => other,
        };
        let gap = super::needs(2, MEMORY, &first, Some(&slower)).1.expect("it filled that, too");
        assert!(gap.users == [1] && gap.assumed.contains("the least"), "{gap:?}");
        let both = done(&[(32, 32, 72), (32, 32, 72)]);
        let gap = super::needs(2, MEMORY, &both, None).1.expect("nobody leaves anything");
        assert!(gap.users == [0, 1] && gap.why.contains("every user filled"), "{gap:?}");
    }
}
