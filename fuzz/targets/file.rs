//! A file in memory that readers of files are given.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Hands `read` a file of these bytes. It is on a file system in memory where there is one.
pub fn with(bytes: &[u8], read: fn(&Path)) {
    static FILE: Mutex<Option<(File, PathBuf)>> = Mutex::new(None);
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, path) = file.get_or_insert_with(|| {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let path = folder.join(format!("crosstalk-fuzz-{}", std::process::id()));
        let file = File::create(&path).expect("a file can be made");
        // It goes with this process: the link through /proc is all that is used of it.
        std::fs::remove_file(&path).expect("it can be removed");
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        (file, path.into())
    });
    file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(bytes)).expect("it is written");
    read(path);
}
