//! The counter of waits, at the group of this test.

use crosstalk_core::need::NeedState;
use crosstalk_observe::waits::{WaitCounter, need};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The directory of this process's group in version 2, if it is seen here.
fn own_group() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let roots = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(PathBuf::from);
    let root = roots.into_iter().find(|root| root.join("cgroup.controllers").exists())?;
    Some(root.join(path)).filter(|group| group.exists())
}

#[test]
fn writers_of_one_file_lock_each_other_out() {
    if let NeedState::Missing { consequence, .. } = need().state {
        println!("skipped: {consequence}");
        return;
    }
    let Some(group) = own_group() else {
        println!("skipped: no control group of version 2 is seen here");
        return;
    };
    let id = fs::metadata(group).expect("is there").ino();
    let counter = WaitCounter::attach(&[id]).expect("attaches");
    assert_eq!(counter.of(id + 1), Ok(None), "does not count");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    let (begun, done) = (Instant::now(), AtomicBool::new(false));
    let counted = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                // A write locks the file (generic_file_write_iter).
                let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("opens");
                while !done.load(Ordering::Relaxed) {
                    file.write_all(&[0; 64]).expect("writes");
                }
            });
        }
        let counted = loop {
            let waits = counter.of(id).expect("reads").expect("counts");
            if waits.contended > 0 || begun.elapsed() > Duration::from_secs(60) {
                break waits;
            }
            thread::yield_now();
        };
        done.store(true, Ordering::Relaxed);
        counted
    });
    assert!(counted.contended > 0 && counted.locked_out > Duration::ZERO, "{counted:?}");
}
