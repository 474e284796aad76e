//! Programs in C that are part of this one and run from memory: nothing has to be
//! installed beside the libraries that they are linked with. They speak what is made of
//! macros and inlined functions, of which other languages see nothing (`ends/end.h` says how
//! they are called).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// A compiled program; empty where the headers that it takes were not there.
#[derive(Debug)]
pub struct Carried {
    /// What it speaks, for people.
    pub what: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl Carried {
    fn is_there(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Why it cannot be used here, if it cannot: it was not built in, or a library that it is
    /// linked with is missing.
    pub fn obstacle(&self) -> Option<String> {
        let program = match self.load() {
            Ok(program) => program,
            Err(e) => return Some(e.to_string()),
        };
        let told = program.command().stdin(Stdio::null()).output();
        match told.map(|told| (told.status.code(), String::from_utf8_lossy(&told.stderr).trim().to_string()))
        {
            // Without words it says how it is called: all that it takes is there.
            Ok((Some(4), _)) => None,
            Ok((_, said)) => Some(said),
            Err(e) => Some(e.to_string()),
        }
    }

    /// Puts it into memory.
    ///
    /// # Errors
    /// What the kernel says (memfd_create(2)); unsupported where there is no such program.
    pub fn load(&self) -> io::Result<Program> {
        if !self.is_there() {
            let why = format!("this program was built without {}", self.what);
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        // SAFETY: the name is a C string, and the call makes a new file descriptor.
        let file = unsafe { libc::memfd_create(c"crosstalk-end".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        File::from(file.try_clone()?).write_all(self.bytes)?;
        Ok(Program { file })
    }
}

/// The program in memory, for as long as this value lives.
#[derive(Debug)]
pub struct Program {
    file: OwnedFd,
}

impl Program {
    /// The command that starts it, without its words.
    pub fn command(&self) -> Command {
        Command::new(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_built_in_is_not_loaded() {
        let none = Carried { what: "carrier pigeons", bytes: b"" };
        let why = none.load().expect_err("is empty").to_string();
        assert!(why.contains("without carrier pigeons"), "{why}");
        assert_eq!(none.obstacle(), Some(why));
    }

    #[test]
    fn a_program_that_does_not_say_how_it_is_called_lacks_something() {
        let program = |bytes| Carried { what: "sh", bytes };
        assert_eq!(program(b"#!/bin/sh\nexit 4\n").obstacle(), None);
        let why = program(b"#!/bin/sh\necho 'librte_eal.so.23 is not there' >&2; exit 127\n").obstacle();
        assert_eq!(why.as_deref(), Some("librte_eal.so.23 is not there"));
    }

    #[test]
    fn a_program_runs_from_memory() {
        // A script needs its interpreter to find it by its path, which it does.
        let echo = Carried { what: "echo", bytes: b"#!/bin/sh\necho \"$1\"\n" };
        let program = echo.load().expect("there is memory");
        let output = program.command().arg("here").output().expect("starts");
        assert_eq!(output.stdout, b"here\n");
    }
}
