//! Programs in C that are embedded in this one and run from memory, so that only the libraries that
//! they are linked with must be installed. They use interfaces that consist of C macros and inline
//! functions, which other languages cannot call. `endpoints/endpoint.h` documents their command line.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};

/// A program in C that was compiled with this one and is part of it. It is empty if its library's
/// headers were missing at build time.
#[derive(Debug)]
pub struct EmbeddedProgram {
    /// The technology that it uses, for people.
    pub what: &'static str,
    pub(crate) bytes: &'static [u8],
}

impl EmbeddedProgram {
    fn is_built_in(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The reason why it cannot be used here: it was not built in, or a library is missing.
    /// `None` if it can be used.
    pub fn obstacle(&self) -> Option<String> {
        let program = match self.load() {
            Ok(program) => program,
            Err(e) => return Some(e.to_string()),
        };
        let output = program.command().stdin(Stdio::null()).output();
        match output
            .map(|output| (output.status.code(), String::from_utf8_lossy(&output.stderr).trim().to_string()))
        {
            // Without arguments it prints its usage and exits with 4: it was linked and started.
            Ok((Some(4), _)) => None,
            Ok((_, message)) => Some(message),
            Err(e) => Some(e.to_string()),
        }
    }

    /// Writes it to a file in memory.
    ///
    /// # Errors
    /// Those of memfd_create(2) and write(2); unsupported if it was not built in.
    pub fn load(&self) -> io::Result<LoadedProgram> {
        if !self.is_built_in() {
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
        Ok(LoadedProgram { file })
    }
}

/// An embedded program in a file in memory, as long as this value lives.
#[derive(Debug)]
pub struct LoadedProgram {
    file: OwnedFd,
}

impl LoadedProgram {
    /// The command that starts it, without arguments.
    pub fn command(&self) -> Command {
        Command::new(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_not_built_in_is_not_loaded() {
        let none = EmbeddedProgram { what: "carrier pigeons", bytes: b"" };
        let why = none.load().expect_err("is empty").to_string();
        assert!(why.contains("without carrier pigeons"), "{why}");
        assert_eq!(none.obstacle(), Some(why));
    }

    #[test]
    fn a_program_that_does_not_print_its_usage_has_an_obstacle() {
        let program = |bytes| EmbeddedProgram { what: "sh", bytes };
        assert_eq!(program(b"#!/bin/sh\nexit 4\n").obstacle(), None);
        let why = program(b"#!/bin/sh\necho 'librte_eal.so.23 is not there' >&2; exit 127\n").obstacle();
        assert_eq!(why.as_deref(), Some("librte_eal.so.23 is not there"));
    }

    #[test]
    fn a_program_runs_from_memory() {
        // The interpreter of a script finds it by its path.
        let echo = EmbeddedProgram { what: "echo", bytes: b"#!/bin/sh\necho \"$1\"\n" };
        let program = echo.load().expect("there is memory");
        let output = program.command().arg("here").output().expect("starts");
        assert_eq!(output.stdout, b"here\n");
    }
}
