//! Who is with whom, and what each group may have.

use crosstalk_cgroup::group::Setting;

use crate::isolation::View;

/// Groups of users, and how they are apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrangement {
    /// Each user is in one of them.
    pub groups: Vec<UserGroup>,
    /// The controllers in which they are apart; without any, all are in one group.
    pub controllers: Vec<&'static str>,
    /// Whether each has a folder of its own.
    pub folders: bool,
    /// The file system that each sees. Docker makes the control groups, too.
    pub view: View,
}

impl Arrangement {
    /// Whether groups have memory of their own.
    pub fn memory_is_apart(&self) -> bool {
        self.view == View::Docker || self.controllers.contains(&"memory")
    }
}

/// Some users who are together.
#[derive(Debug, Clone, PartialEq)]
pub struct UserGroup {
    /// Its name, below the machine's group.
    pub name: String,
    /// Their numbers.
    pub users: Vec<usize>,
    /// What it is set to.
    pub settings: Vec<Setting>,
}
