//! What a kind of test is.

use std::fmt;

use crosstalk_core::Fault;

use crate::user::User;

/// A kind of test.
pub struct Test {
    /// Its name in mix files.
    pub name: &'static str,
    /// What one job does, if its user's `work` is 1.
    pub title: &'static str,
    /// Does one job. Its fault names the test.
    pub run: fn(&mut User) -> Result<(), Fault>,
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
