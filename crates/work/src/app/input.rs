//! Files that people name as input.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file that can be read as often as needed: looked through first, then by every
/// node that has a part of it.
///
/// # Errors
/// Where it is a pipe, for whose writer `open` would wait, a device, which need not end, or
/// a directory; and where it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() {
        return File::open(path);
    }
    Err(io::Error::new(io::ErrorKind::Unsupported, "it is no regular file, and is read more than once"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_need_not_end_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("runs").success());
        fs::write(&file, "").expect("a file");
        for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(open(path).expect_err("refused").to_string().contains("no regular file"));
        }
        assert!(open(&file).is_ok());
    }
}
