//! What users do who have no jobs of a mix: they read files of their own, or run a command.

use std::fmt;

use crosstalk_core::units::{Bytes, human};

/// What a user does.
#[derive(Debug, Clone, PartialEq)]
pub enum Activity {
    /// Reads a file of its own again and again, slowly.
    Reread(Size),
    /// Reads through a file as fast as it can, until all others are done.
    Stream(Size),
    /// Runs a command once, by the shell.
    Run(String),
}

impl fmt::Display for Activity {
    /// As a line of a mix has it, behind the number of users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Activity::Reread(size) => write!(f, "reread {size}"),
            Activity::Stream(size) => write!(f, "stream {size}"),
            Activity::Run(command) => write!(f, "run {command}"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => f.write_str(&human(bytes.0 as f64, "B")),
            // In hundredths of a percent, the least that a mix has.
            Size::Share(share) => write!(f, "{}%", (share * 1e4).round() / 100.0),
        }
    }
}

/// The size of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// So many bytes.
    Bytes(Bytes),
    /// This share of the machine's memory.
    Share(f64),
}

impl Size {
    /// The bytes, on a machine with this memory; `None` for a share if that is not known.
    pub fn on(self, memory: Option<Bytes>) -> Option<Bytes> {
        match self {
            Size::Bytes(bytes) => Some(bytes),
            Size::Share(share) => memory.map(|memory| Bytes((memory.0 as f64 * share) as u64)),
        }
    }
}

/// As many users as `counts` says of each kind; if there are to be `users`, each kind in proportion, and at least
/// one of each. `None` if there are more kinds than users.
pub(super) fn scaled(counts: &[usize], users: Option<usize>) -> Option<Vec<usize>> {
    let all: usize = counts.iter().sum();
    let Some(users) = users.filter(|users| *users != all) else { return Some(counts.to_vec()) };
    let spare = users.checked_sub(counts.len())?;
    // One of each, and of the rest each kind's share; what is left after rounding down goes to the largest remainders.
    let share = |count: usize| spare as u128 * count as u128;
    let mut scaled: Vec<usize> =
        counts.iter().map(|count| 1 + (share(*count) / all as u128) as usize).collect();
    let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
    by_remainder.sort_by_key(|kind| std::cmp::Reverse(share(counts[*kind]) % all as u128));
    let left = users - scaled.iter().sum::<usize>();
    by_remainder[..left].iter().for_each(|kind| scaled[*kind] += 1);
    Some(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_keep_their_proportion_and_each_has_a_user() {
        assert_eq!(scaled(&[2, 14], None), Some(vec![2, 14]));
        assert_eq!(scaled(&[2, 14], Some(32)), Some(vec![5, 27]));
        assert_eq!(scaled(&[1, 100], Some(2)), Some(vec![1, 1]));
        assert_eq!(scaled(&[1, 1, 1], Some(2)), None);
    }

    #[test]
    fn what_users_do_reads_as_in_a_mix() {
        let size = Size::Bytes(Bytes(24 << 20));
        let all = [
            Activity::Stream(Size::Share(2.0)),
            Activity::Reread(Size::Share(0.125)),
            Activity::Reread(size),
        ];
        assert_eq!(all.map(|one| one.to_string()), ["stream 200%", "reread 12.5%", "reread 24 MiB"]);
        assert_eq!(Activity::Run("./job 1".into()).to_string(), "run ./job 1");
    }

    proptest! {
        #[test]
        fn the_sum_is_what_was_asked_for(counts in prop::collection::vec(1_usize..50, 1..6), users in 6_usize..300) {
            let scaled = scaled(&counts, Some(users)).expect("there are users enough");
            prop_assert_eq!(scaled.iter().sum::<usize>(), users);
            prop_assert!(scaled.iter().all(|count| *count > 0));
        }
    }
}
