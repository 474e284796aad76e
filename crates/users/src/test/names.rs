//! Files that are made, closed, linked and removed.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crosstalk_core::Fault;

use super::check::{cannot, expect};
use crate::user::User;

/// Names of a file. POSIX guarantees no more links than this.
const NAMES: usize = 8;

pub fn creat_clo(user: &mut User) -> Result<(), Fault> {
    let name = Name(user.file("made"));
    for _ in 0..user.scaled(1_000) {
        // Closed at once.
        File::create(&name.0).map_err(cannot("make a file"))?;
    }
    name.remove()
}

pub fn link_test(user: &mut User) -> Result<(), Fault> {
    let names: [Name; NAMES] = std::array::from_fn(|_| Name(user.file("link")));
    let file = File::create(&names[0].0).map_err(cannot("make a file"))?;
    let link = |name: &Name| fs::hard_link(&names[0].0, &name.0).map_err(cannot("make a link"));
    names[1..].iter().try_for_each(link)?;
    for _ in 0..user.scaled(9) {
        for name in &names[1..] {
            fs::remove_file(&name.0).map_err(cannot("remove a link"))?;
            link(name)?;
        }
    }
    let links = file.metadata().map_err(cannot("count a file's links"))?.nlink();
    names.into_iter().try_for_each(Name::remove)?;
    expect("links", links, NAMES as u64)
}

/// The name of a file, which is removed with this value.
pub(super) struct Name(pub(super) PathBuf);

impl Name {
    /// Removes it.
    ///
    /// # Errors
    /// If it is not there, or the kernel refuses.
    pub(super) fn remove(mut self) -> Result<(), Fault> {
        fs::remove_file(std::mem::take(&mut self.0)).map_err(cannot("remove a file"))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty() {
            // A job has failed, and reports why. The file may not have been made.
            let _ = fs::remove_file(&self.0);
        }
    }
}
