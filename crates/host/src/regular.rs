//! Files that people name, to read and to write: a pipe without a writer would be waited for, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crosstalk_core::Fault;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// What people write by hand, and what a run keeps beside its journal, is smaller, in bytes.
const SMALL: u64 = 16 << 20;

/// Opens a regular file to read; everything else is refused, and none is waited for.
///
/// # Errors
/// Those of open(2), and where it is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(OpenOptions::new().read(true), path)
}

/// The same, opened as the options say.
///
/// # Errors
/// As [`open`].
pub fn open_as(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // A pipe that is opened so does not wait for its other end; a regular file is as always.
    let file = options.custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "expected a file, found a pipe, a device or a folder"))
}

/// Opens what is to be written, as the options say: a regular file, a device of characters such as `/dev/null`, or
/// a pipe that somebody reads. One that nobody reads is refused, not waited for.
///
/// # Errors
/// Those of open(2), and where it is something else.
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
    waiting(file)
}

/// Refuses what is there and cannot be written to; what is in it stays. The reader of a pipe is held until this
/// program ends: it would take the end of this attempt for the end of all.
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

/// Writes a text over what is in a file, which is made where there is none.
///
/// # Errors
/// As [`open_to_write`], and those of write(2).
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    open_to_write(OpenOptions::new().create(true).truncate(true), path)?.write_all(text.as_bytes())
}

/// The text of a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and where it is longer, or no text.
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

/// Opens what a person named to read, a pipe too: where nobody writes to it, it is at its end at once.
///
/// # Errors
/// Those of open(2).
pub fn open_any(path: &Path) -> io::Result<File> {
    waiting(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// It was opened without waiting; from here on it waits for its other end.
fn waiting(file: File) -> io::Result<File> {
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// What is in a small file that was opened so: of at most 16 MiB.
///
/// # Errors
/// A usage fault at the path, where it is missing, is longer, or may not be read; an environment fault where
/// reading fails otherwise.
pub fn small(file: io::Result<File>, path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let fault = match file.and_then(|file| file.take(SMALL + 1).read_to_end(&mut bytes)) {
        Ok(length) if length as u64 <= SMALL => return Ok(bytes),
        Ok(_) => Fault::usage(format!("expected a text file of at most {} MiB", SMALL >> 20)),
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
    fn a_file_is_read_to_its_end_unless_that_is_too_far() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("text");
        fs::write(&path, "x".repeat(1024)).expect("writes");
        assert_eq!(text(&path, 1024).expect("is short enough").len(), 1024);
        let refused = text(&path, 1023).expect_err("is longer");
        assert!(refused.to_string().contains("at most"), "{refused}");
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
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
        assert!(both.is_err(), "opened for both, a pipe has its other end");
    }
}
