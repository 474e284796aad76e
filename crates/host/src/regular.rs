//! Opens files that users name. A pipe without a writer would block, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crosstalk_core::Fault;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// The largest size in bytes of files that people write, and of a run's files except the journal.
const SMALL: u64 = 16 << 20;

/// Opens a regular file for reading, without blocking.
///
/// # Errors
/// Those of open(2), and if it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(OpenOptions::new().read(true), path)
}

/// Opens a regular file with these options, without blocking.
///
/// # Errors
/// As [`open`].
pub fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe does not block then. For a regular file the flag has no effect.
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "expected a file, found a pipe, a device or a folder"))
}

/// Opens a file for writing, with these options: a regular file, a character device such as `/dev/null`, or a pipe
/// that has a reader. A pipe without a reader is refused.
///
/// # Errors
/// Those of open(2), and if it is something else.
pub fn open_to_write(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.write(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|e| {
        match e.raw_os_error() {
            Some(libc::ENXIO) => {
                io::Error::new(ErrorKind::InvalidInput, "expected a file, found a pipe that nobody reads")
            }
            _ => e,
        }
    })?;
    let kind = file.metadata()?.file_type();
    if !(kind.is_file() || kind.is_char_device() || kind.is_fifo()) {
        return Err(io::Error::new(ErrorKind::InvalidInput, "expected a file, found a device or a folder"));
    }
    make_blocking(file)
}

/// Checks that an existing file can be written to, without changing it. A pipe stays open until this program ends:
/// else its reader would see the end of the stream now.
///
/// # Errors
/// As [`open_to_write`].
pub fn may_write(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let file = open_to_write(OpenOptions::new().append(true), path)?;
    if file.metadata()?.file_type().is_fifo() {
        std::mem::forget(file);
    }
    Ok(())
}

/// Replaces the content of a file, which is created if it does not exist.
///
/// # Errors
/// As [`open_to_write`], and those of write(2).
pub fn replace_content(path: &Path, text: &str) -> io::Result<()> {
    open_to_write(OpenOptions::new().create(true).truncate(true), path)?.write_all(text.as_bytes())
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and if it is longer, or not UTF-8.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("expected a text of at most {} KiB", most >> 10),
        ));
    }
    Ok(text)
}

/// Opens a file or a pipe for reading. A pipe without a writer is at its end at once.
///
/// # Errors
/// Those of open(2).
pub fn open_any(path: &Path) -> io::Result<File> {
    make_blocking(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// Makes a file blocking, which was opened without blocking.
fn make_blocking(file: File) -> io::Result<File> {
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// The content of an opened file of at most 16 MiB.
///
/// # Errors
/// A usage fault with the path if the file is missing, longer, or may not be read; an environment fault if reading
/// fails otherwise.
pub fn read_small(file: io::Result<File>, path: &Path) -> Result<Vec<u8>, Fault> {
    read_up_to(file, path, SMALL)
}

/// The content of an opened file of at most `most` bytes.
///
/// # Errors
/// As [`read_small`].
pub fn read_up_to(file: io::Result<File>, path: &Path, most: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let fault = match file.and_then(|file| file.take(most + 1).read_to_end(&mut bytes)) {
        Ok(length) if length as u64 <= most => return Ok(bytes),
        Ok(_) => Fault::usage(format!("expected a text file of at most {} MiB", most >> 20)),
        Err(e) if e.kind() == ErrorKind::NotFound => Fault::usage("cannot read it: it is missing"),
        Err(e)
            if e.raw_os_error().is_none_or(|code| {
                [libc::EACCES, libc::EPERM, libc::ENOTDIR, libc::EISDIR, libc::ELOOP, libc::ENXIO]
                    .contains(&code)
            }) =>
        {
            Fault::usage(format!("cannot read it: {e}"))
        }
        Err(e) => Fault::environment(format!("cannot read it: {e}")),
    };
    Err(fault.at(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_read_unless_it_is_too_long() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("text");
        fs::write(&path, "x".repeat(1024)).expect("writes");
        assert_eq!(text(&path, 1024).expect("is short enough").len(), 1024);
        let refused = text(&path, 1023).expect_err("is longer");
        assert!(refused.to_string().contains("at most"), "{refused}");
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_blocking() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .expect("makes a pipe");
        for path in [&pipe, Path::new("/dev/zero"), folder.path()] {
            let refused = open(path).expect_err("is no file");
            assert!(refused.to_string().contains("expected a file"), "{refused}");
        }
        let both = open_as(OpenOptions::new().read(true).write(true), &pipe);
        assert!(both.is_err(), "opened for both, a pipe does not block, but is no file");
    }
}
