//! Which files the kernel opens for one program: a script, its interpreter, the loader of shared libraries.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use crosstalk_host::starts::HeldStart;

/// Processes and files that are remembered at most.
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

/// The last file of each process.
#[derive(Debug, Default)]
pub struct Openings {
    /// The process → whether the file was a script.
    last: HashMap<u32, bool>,
    /// Device and inode → whether it is a loader.
    loaders: HashMap<(u64, u64), bool>,
}

impl Openings {
    /// What the file is.
    pub fn note(&mut self, start: &HeldStart) -> Opening {
        let is_loader = self.is_loader(start);
        if self.last.len() > MOST {
            self.last.clear();
        }
        self.noted(start.pid(), is_loader, || start.is_script())
    }

    fn noted(&mut self, pid: u32, is_loader: bool, is_script: impl FnOnce() -> bool) -> Opening {
        match self.last.remove(&pid) {
            Some(_) if is_loader => Opening::Loader,
            before => {
                self.last.insert(pid, is_script());
                if before == Some(true) { Opening::Interpreter } else { Opening::First }
            }
        }
    }

    fn is_loader(&mut self, start: &HeldStart) -> bool {
        let Ok(file) = start.file().metadata() else { return false };
        if self.loaders.len() > MOST {
            self.loaders.clear();
        }
        let named = || {
            let path = start.path();
            let name = path.as_deref().and_then(|path| path.file_name()).and_then(|name| name.to_str());
            name.is_some_and(is_name_of_loader)
        };
        *self.loaders.entry((file.dev(), file.ino())).or_insert_with(named)
    }
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
        let mut note = |pid, is_loader, is_script| openings.noted(pid, is_loader, || is_script);
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
        assert!(
            ["ld-linux-x86-64.so.2", "ld-musl-aarch64.so.1", "ld.so.1", "ld-2.31.so", "ld64.so.2"]
                .iter()
                .all(|name| is_name_of_loader(name))
        );
        assert!(!["ld", "ld-elf", "libc.so.6", "ld.gold"].iter().any(|name| is_name_of_loader(name)));
    }
}
