//! Which files the kernel opens for one program: a script, its interpreter, the loader of shared libraries.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use crosstalk_host::starts::HeldStart;

/// Processes that are remembered at most.
const MOST: usize = 8192;

/// What a file is for the program that a process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The program, or a script.
    First,
    /// The interpreter of the script before.
    Interpreter,
    /// The loader of the program before.
    Loader,
}

/// The last file of each process: whether it was a script.
#[derive(Debug, Default)]
pub struct Openings(HashMap<u32, bool>);

impl Openings {
    /// What the file is.
    pub fn note(&mut self, start: &HeldStart) -> Opening {
        if self.0.len() > MOST {
            self.0.clear();
        }
        self.noted(start.pid(), || is_loader(start), || start.is_script())
    }

    fn noted(
        &mut self,
        pid: u32,
        is_loader: impl FnOnce() -> bool,
        is_script: impl FnOnce() -> bool,
    ) -> Opening {
        match self.0.remove(&pid) {
            Some(_) if is_loader() => Opening::Loader,
            before => {
                self.0.insert(pid, is_script());
                if before == Some(true) { Opening::Interpreter } else { Opening::First }
            }
        }
    }
}

/// Whether the file is a loader of the system's, by its name.
fn is_loader(start: &HeldStart) -> bool {
    let path = start.path();
    let name = path.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
    name.is_some_and(is_name_of_loader) && start.file().metadata().is_ok_and(|file| file.uid() == 0)
}

/// Those of glibc and musl (ld.so(8)).
fn is_name_of_loader(name: &str) -> bool {
    name.contains(".so")
        && (name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("ld64.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_first_file() {
        let mut openings = Openings::default();
        let mut note = |pid, is_loader, is_script| openings.noted(pid, || is_loader, || is_script);
        assert_eq!(note(7, false, false), Opening::First);
        assert_eq!(note(8, false, true), Opening::First, "a script");
        assert_eq!(note(7, true, false), Opening::Loader);
        assert_eq!(note(8, false, false), Opening::Interpreter);
        assert_eq!(note(8, true, false), Opening::Loader);
        assert_eq!(note(7, false, false), Opening::First, "the next program, without a loader");
        assert_eq!(note(7, false, false), Opening::First, "and the next");
        assert_eq!(note(9, true, false), Opening::First, "the loader itself is started");
    }

    #[test]
    fn loaders_are_known_by_name() {
        let loaders = ["ld-linux-x86-64.so.2", "ld-musl-aarch64.so.1", "ld.so.1", "ld-2.31.so", "ld64.so.2"];
        assert!(loaders.into_iter().all(is_name_of_loader));
        assert!(!["ld", "ld-elf", "libc.so.6", "ld.gold"].into_iter().any(is_name_of_loader));
    }
}
