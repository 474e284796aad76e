//! Every kind of test as users run it: in a process with one thread. This program owns its `main` for that.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crosstalk_core::units::Bytes;
use crosstalk_users::common::CommonFiles;
use crosstalk_users::test::tests;
use crosstalk_users::user::User;

fn main() -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder");
    let segments = segments();
    for work in [0.001, 0.05] {
        every_job_passes_and_leaves_nothing_behind(folder.path(), work);
    }
    assert_eq!(self::segments(), segments, "segments of shared memory");
    assert_eq!(children(), "", "children");
    println!("test result: ok. 1 passed; 0 failed");
    ExitCode::SUCCESS
}

fn every_job_passes_and_leaves_nothing_behind(folder: &Path, work: f64) {
    let (common, own) = (folder.join(format!("common-{work}")), folder.join(format!("own-{work}")));
    fs::create_dir(&common).expect("makes");
    fs::create_dir(&own).expect("makes");
    let size = Bytes(100 << 10);
    let common = CommonFiles::make(&common, size, work, &|| Ok(())).expect("makes");
    let mut user = User::new(own, common, work, size, (1, 0));
    for test in tests() {
        for _ in 0..2 {
            (test.run)(&mut user).unwrap_or_else(|fault| panic!("{fault}"));
        }
        assert_eq!(fs::read_dir(&user.folder).expect("reads").count(), 0, "{test:?}");
    }
}

/// The segments that this process has made, as the kernel lists them.
fn segments() -> usize {
    let own = std::process::id().to_string();
    let list = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    list.lines().filter(|line| line.split_whitespace().nth(4) == Some(own.as_str())).count()
}

fn children() -> String {
    fs::read_to_string("/proc/thread-self/children").unwrap_or_default()
}
