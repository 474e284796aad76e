//! Looking files up in a tree, and making and removing others there.

use std::fs::File;
use std::io::Read;

use crosstalk_core::Fault;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat, unlinkat};

use super::check::{cannot, expect};
use crate::common::{LOOK_UP, MAKE};
use crate::user::User;

/// Times that the lists are put into a random order.
const SHUFFLES: usize = 5;

pub fn disk_src(user: &mut User) -> Result<(), Fault> {
    let tree =
        openat(CWD, user.common.tree(), OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(cannot("open the common tree"))?;
    let list = read_list(user)?;
    let mut looked_up: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix(LOOK_UP)).collect();
    // Another user may make the same files at this moment.
    let own = |name: &str| user.own(name);
    let mut made: Vec<String> = list.lines().filter_map(|line| line.strip_prefix(MAKE)).map(own).collect();
    for _ in 0..SHUFFLES {
        user.random.shuffle(&mut looked_up);
        user.random.shuffle(&mut made);
    }
    looked_up.truncate(user.scaled(looked_up.len()));
    made.truncate(user.scaled(made.len()));
    let mut bytes = 0;
    for index in 0..looked_up.len().max(made.len()) {
        if let Some(path) = looked_up.get(index) {
            bytes += statat(&tree, *path, AtFlags::empty()).map_err(cannot("look a file up"))?.st_size;
        }
        if let Some(path) = made.get(index) {
            // It fails if the file is there already.
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            drop(openat(&tree, path, flags, Mode::from_raw_mode(0o777)).map_err(cannot("make a file"))?);
            unlinkat(&tree, path, AtFlags::empty()).map_err(cannot("remove a file"))?;
        }
    }
    expect("bytes of the files that were looked up", bytes, 0)
}

/// The list of the tree's files.
fn read_list(user: &User) -> Result<String, Fault> {
    let mut list = String::new();
    let mut file = File::open(user.common.list()).map_err(cannot("open the list of the common tree"))?;
    file.read_to_string(&mut list).map_err(cannot("read the list of the common tree"))?;
    Ok(list)
}
