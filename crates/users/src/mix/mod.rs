//! Mixes: how often each kind of test comes among a user's jobs, or what each user does.
//!
//! A mix file is one of AIM7's workfiles: lines `HITS test_name`, comments that begin with `#`, and the sizes of the
//! files, `FILESIZE: 10K` and `POOLSIZE: 1M`. Or its lines say what users do, each with a working set of its own:
//! `14 users reread 5%`, `2 users stream 200%` (of the machine's memory, or a size such as `24M`), and
//! `3 users run COMMAND`, where the command is the rest of the line and runs once a user, by `sh -c`.

mod activity;
mod parse;

use std::path::Path;

use crosstalk_core::units::Bytes;
use crosstalk_core::{Fault, name, quoted};
use crosstalk_host::regular;

pub use activity::{Activity, Size};
use parse::{Content, content};

use crate::test::Test;
use crate::user::random;

/// The bundled mixes, by name.
const BUNDLED: [(&str, &str); 7] = [
    ("shared", include_str!("../../../../mixes/shared.mix")),
    ("compute", include_str!("../../../../mixes/compute.mix")),
    ("dbase", include_str!("../../../../mixes/dbase.mix")),
    ("fserver", include_str!("../../../../mixes/fserver.mix")),
    ("readers", include_str!("../../../../mixes/readers.mix")),
    ("streaming", include_str!("../../../../mixes/streaming.mix")),
    ("uneven", include_str!("../../../../mixes/uneven.mix")),
];

/// The longest file that lists what users do: a mix, or commands (bytes).
pub const LONGEST: u64 = 4 << 20;

/// The names of the bundled mixes.
pub fn bundled() -> impl Iterator<Item = &'static str> + Clone {
    BUNDLED.iter().map(|(name, _)| *name)
}

/// Kinds of test, with how often each comes relative to the others; or what users do.
#[derive(Debug)]
pub struct Mix(Content);

impl Mix {
    /// The bundled mix of this name, or that of a file. What has a `/` or ends in `.mix` is a file.
    ///
    /// # Errors
    /// A usage fault if there is no such mix (with the nearest name), the file cannot be read, or a line of it is
    /// wrong.
    pub fn find(name_or_file: &str) -> Result<Self, Fault> {
        if let Some((name, text)) = BUNDLED.iter().find(|(name, _)| *name == name_or_file) {
            return Self::parse(text, name);
        }
        let path = Path::new(name_or_file);
        if !name_or_file.contains('/') && path.extension().is_none_or(|end| end != "mix") {
            return Err(name::unknown("mix", name_or_file, bundled()));
        }
        let text = regular::text(path, LONGEST)
            .map_err(|e| Fault::usage(format!("cannot read the mix `{}`: {e}", quoted(name_or_file))))?;
        Self::parse(&text, name_or_file)
    }

    /// The mix of a text; `place` is the name of its file.
    ///
    /// # Errors
    /// A usage fault with file and line if a line is wrong, or the mix has no test.
    pub fn parse(text: &str, place: &str) -> Result<Self, Fault> {
        content(text, place).map(Mix)
    }

    /// Kinds of test with their hits, in the order of the file.
    pub fn hits(&self) -> &[(&'static Test, u32)] {
        &self.0.hits
    }

    /// What each user does, if the mix says so: as many users as it has, or `users` in the same proportion. Empty for a
    /// mix of tests.
    ///
    /// # Errors
    /// A usage fault if there are to be fewer users than lines.
    pub fn activities(&self, users: Option<usize>) -> Result<Vec<Activity>, Fault> {
        if self.0.users.is_empty() {
            return Ok(Vec::new());
        }
        let counts: Vec<usize> = self.0.users.iter().map(|(count, _)| *count).collect();
        let scaled = activity::scaled(&counts, users).ok_or_else(|| {
            let message = format!("expected at least a user for each of the mix's {} lines", counts.len());
            Fault::usage(message).of_parameter("users")
        })?;
        let of_line = |(count, (_, activity)): (usize, &(usize, Activity))| vec![activity.clone(); count];
        Ok(scaled.into_iter().zip(&self.0.users).flat_map(of_line).collect())
    }

    /// Size of the files of the disk tests if there are so many users: as in AIM7, all users' files share the pool.
    pub fn file_size(&self, users: usize) -> Bytes {
        Bytes(self.0.file_size.0 + self.0.pool_size.0 / users.max(1) as u64)
    }

    /// A user's jobs, `count` of them: each kind of test in proportion to its hits, rounded to one above or below,
    /// and the same for all users. The order is random by seed and user.
    pub fn jobs(&self, count: usize, seed: u64, user: u64) -> Vec<&'static Test> {
        let counts = self.counts(count);
        let kinds = self.0.hits.iter().zip(counts);
        let mut jobs: Vec<_> = kinds.flat_map(|(&(test, _), times)| vec![test; times]).collect();
        // Other random numbers than those that the jobs draw.
        random(seed ^ ORDER, user).shuffle(&mut jobs);
        jobs
    }

    /// How often each kind comes among `count` jobs. Jobs that are left after rounding down go to the largest
    /// remainders.
    fn counts(&self, count: usize) -> Vec<usize> {
        let all: u128 = self.0.hits.iter().map(|(_, hits)| u128::from(*hits)).sum();
        let share = |hits: u32| count as u128 * u128::from(hits);
        let mut counts: Vec<usize> =
            self.0.hits.iter().map(|(_, hits)| (share(*hits) / all) as usize).collect();
        let mut by_remainder: Vec<usize> = (0..counts.len()).collect();
        // A stable sort: of equal remainders, the first in the file.
        by_remainder.sort_by_key(|&kind| std::cmp::Reverse(share(self.0.hits[kind].1) % all));
        let left = count - counts.iter().sum::<usize>();
        by_remainder[..left].iter().for_each(|&kind| counts[kind] += 1);
        counts
    }
}

/// Tells the random numbers of orders from others of the same seed.
const ORDER: u64 = 0x6f72_6465_7200;

#[cfg(test)]
mod tests;
