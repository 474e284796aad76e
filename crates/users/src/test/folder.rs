//! Reading a folder.

use std::mem::MaybeUninit;

use crosstalk_core::Fault;
use rustix::fs::{CWD, Mode, OFlags, RawDir, SeekFrom, openat, seek};

use super::check::{cannot, expect};
use crate::user::User;

/// A folder that every system has, with many entries on most.
const FOLDER: &str = "/bin";

/// Bytes that the kernel is asked for at once, as by the C library.
const BUFFER: usize = 32 << 10;

/// Reads entries one after another, and begins again at the end.
pub fn dir_rtns_1(user: &mut User) -> Result<(), Fault> {
    let folder = openat(CWD, FOLDER, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(cannot("open /bin"))?;
    let mut buffer = [MaybeUninit::uninit(); BUFFER];
    let due = user.scaled(10_000);
    let (mut read, mut unnamed) = (0, 0);
    while read < due {
        let before = read;
        let mut entries = RawDir::new(&folder, &mut buffer);
        // The end of the folder counts as an entry: the caller has to find it.
        while read < due {
            read += 1;
            match entries.next() {
                Some(entry) => {
                    let entry = entry.map_err(cannot("read /bin"))?;
                    unnamed += usize::from(entry.file_name().is_empty());
                }
                None => break,
            }
        }
        if read - before < 3 {
            // Even an empty folder has itself and the one above it.
            expect("entries of /bin", read - before, 3)?;
        }
        seek(&folder, SeekFrom::Start(0)).map_err(cannot("begin /bin again"))?;
    }
    expect("entries without a name", unnamed, 0)
}
