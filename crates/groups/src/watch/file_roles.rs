//! Which files the kernel opens for one program: a script, its interpreter, the loader of shared libraries.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use crosstalk_host::starts::PendingStart;

/// Processes that are remembered at most: more than start programs at the same time.
const MOST: usize = 1024;

/// What a file is for the program that a process starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The program, or a script.
    Program,
    /// The interpreter of the script before.
    Interpreter,
    /// The same of a script that has waited for its group in vain.
    LateInterpreter,
    /// The loader of the program before.
    Loader,
}

/// The last file that the kernel has opened for a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastFile {
    Program,
    Script,
    /// A script that has waited for its group in vain.
    LateScript,
}

/// The last file of each process.
#[derive(Debug, Default)]
pub struct FileRoles(HashMap<u32, LastFile>);

impl FileRoles {
    /// What the file is.
    pub fn note(&mut self, start: &PendingStart) -> FileRole {
        if self.0.len() > MOST {
            self.0.clear();
        }
        self.add(start.pid(), || is_loader(start), || start.is_script())
    }

    /// Notes that the last file of a process has waited for its group in vain.
    pub fn give_up(&mut self, pid: u32) {
        if let Some(file @ LastFile::Script) = self.0.get_mut(&pid) {
            *file = LastFile::LateScript;
        }
    }

    fn add(
        &mut self,
        pid: u32,
        is_loader: impl FnOnce() -> bool,
        is_script: impl FnOnce() -> bool,
    ) -> FileRole {
        let before = self.0.remove(&pid);
        if before.is_some() && is_loader() {
            return FileRole::Loader;
        }
        self.0.insert(pid, if is_script() { LastFile::Script } else { LastFile::Program });
        match before {
            None | Some(LastFile::Program) => FileRole::Program,
            Some(LastFile::Script) => FileRole::Interpreter,
            Some(LastFile::LateScript) => FileRole::LateInterpreter,
        }
    }
}

/// Whether the file is a loader of the system's, by its name.
fn is_loader(start: &PendingStart) -> bool {
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
        let mut roles = FileRoles::default();
        let mut note = |pid, is_loader, is_script| roles.add(pid, || is_loader, || is_script);
        assert_eq!(note(7, false, false), FileRole::Program);
        assert_eq!(note(8, false, true), FileRole::Program, "a script");
        assert_eq!(note(7, true, false), FileRole::Loader);
        assert_eq!(note(8, false, false), FileRole::Interpreter);
        assert_eq!(note(8, true, false), FileRole::Loader);
        assert_eq!(note(7, false, false), FileRole::Program, "the next program, without a loader");
        assert_eq!(note(7, false, false), FileRole::Program, "and the next");
        assert_eq!(note(9, true, false), FileRole::Program, "the loader itself is started");
    }

    #[test]
    fn the_interpreter_of_a_script_that_has_waited_in_vain_is_known() {
        let mut roles = FileRoles::default();
        let add = |roles: &mut FileRoles, is_script| roles.add(7, || false, || is_script);
        assert_eq!(add(&mut roles, true), FileRole::Program);
        roles.give_up(7);
        assert_eq!(add(&mut roles, false), FileRole::LateInterpreter);
        roles.give_up(7);
        assert_eq!(add(&mut roles, false), FileRole::Program, "the next program waits as every other one");
    }

    #[test]
    fn loaders_are_known_by_name() {
        let loaders = ["ld-linux-x86-64.so.2", "ld-musl-aarch64.so.1", "ld.so.1", "ld-2.31.so", "ld64.so.2"];
        assert!(loaders.into_iter().all(is_name_of_loader));
        assert!(!["ld", "ld-elf", "libc.so.6", "ld.gold"].into_iter().any(is_name_of_loader));
    }
}
