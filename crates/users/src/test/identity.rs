//! Who and where a process is: its users and groups, its folder, its terminal, its time.

use std::env;
use std::fs::{self, File};
use std::io::{IsTerminal, Read, stdin};

use crosstalk_core::Fault;
use rustix::process::{getcwd, getegid, geteuid, getgid, getgroups, getpgrp, getpid, getppid, getuid};
use rustix::time::{ClockId, clock_gettime};

use super::check::{cannot, expect};
use crate::user::User;

pub fn misc_rtns_1(user: &mut User) -> Result<(), Fault> {
    for _ in 0..user.scaled(10) {
        let before = clock_gettime(ClockId::ProcessCPUTime);
        let folder = getcwd(Vec::new()).map_err(cannot("read the current folder"))?;
        expect("the current folder is absolute", folder.as_bytes().first(), Some(&b'/'))?;
        let (user, group) = (getuid(), getgid());
        expect("effective and real user and group", (geteuid(), getegid()), (user, group))?;
        if env::var_os("PATH").is_none() {
            return Err(Fault::environment("the variable PATH is not set"));
        }
        getgroups().map_err(cannot("read the groups"))?;
        let (own, leader, parent) = (getpid(), getpgrp(), getppid());
        expect("a parent that is not this process", parent == Some(own), false)?;
        expect("a process group", leader.as_raw_nonzero().get() > 0, true)?;
        entry("/etc/passwd", |fields| fields.first() == Some(&"root"))?;
        entry("/etc/passwd", |fields| fields.get(2) == Some(&user.as_raw().to_string().as_str()))?;
        entry("/etc/group", |fields| fields.get(2) == Some(&group.as_raw().to_string().as_str()))?;
        if stdin().is_terminal() && stdin().is_terminal() {
            // Its name, as far as the process may read it.
            let _ = fs::read_link("/proc/self/fd/0");
        }
        let after = clock_gettime(ClockId::ProcessCPUTime);
        expect(
            "the CPU time goes on",
            (after.tv_sec, after.tv_nsec) >= (before.tv_sec, before.tv_nsec),
            true,
        )?;
    }
    Ok(())
}

/// Searches a file of lines with fields, such as passwd(5). A user or group without an entry there is no fault: it
/// may be known elsewhere.
fn entry(path: &str, is_it: impl Fn(&[&str]) -> bool) -> Result<bool, Fault> {
    let mut text = String::new();
    let mut file = File::open(path).map_err(cannot("open the list of users or groups"))?;
    file.read_to_string(&mut text).map_err(cannot("read the list of users or groups"))?;
    Ok(text.lines().any(|line| is_it(&line.split(':').collect::<Vec<_>>())))
}
