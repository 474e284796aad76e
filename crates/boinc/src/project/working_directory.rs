//! The directory and the user of a project's process. It runs as the user who starts it. If that is root, it runs as
//! `nobody`, and root hands the project's directory over first. `nobody` may not enter every folder of root's, so the
//! process stays in that directory.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crosstalk_core::Fault;
use crosstalk_host::process::{Account, LowPorts};

use super::directory::{check_empty, is_project_s};
use super::journal::{self, Journal};

/// A project's directory as its process reaches it, and as people name it.
#[derive(Debug)]
pub struct WorkingDirectory {
    folder: PathBuf,
    name: PathBuf,
    ports: Option<LowPorts>,
}

impl WorkingDirectory {
    /// The directory `name`. Where this process is root's, makes it, hands it to `nobody`, and becomes that
    /// user in it, for good. It may still listen below port 1024, until [`WorkingDirectory::drop_privileges`].
    ///
    /// # Errors
    /// Where root may not become `nobody`, the directory is another user's, or it holds something else than a
    /// project.
    pub fn enter(name: &Path) -> Result<Self, Fault> {
        let name = name.to_path_buf();
        let Some(account) = Account::unprivileged()? else {
            return Ok(WorkingDirectory { folder: name.clone(), name, ports: None });
        };
        let folder = hand_over(&name, account)?;
        let ports = account.become_user(&folder).map_err(|fault| fault.at(name.display().to_string()))?;
        Ok(WorkingDirectory { folder: ".".into(), name, ports: Some(ports) })
    }

    /// The directory's path for this process.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The fault with the directory's name as people know it, in place of this process's path.
    pub fn name_fault(&self, fault: Fault) -> Fault {
        let place = fault.place.map(|place| match Path::new(&place).strip_prefix(&self.folder) {
            Ok(inner) => {
                let whole: PathBuf = self.name.components().chain(inner.components()).collect();
                whole.display().to_string()
            }
            Err(_) => place,
        });
        Fault { place, ..fault }
    }

    /// Gives up what root's process kept. From here on it has no right that `nobody` has not.
    pub fn drop_privileges(&mut self) {
        self.ports.take();
    }
}

/// Makes a directory and hands it over, or what an earlier version has left there as root.
fn hand_over(path: &Path, account: Account) -> Result<File, Fault> {
    let place = path.display().to_string();
    let fault = |e: io::Error| Fault::environment(format!("cannot use this directory: {e}")).at(&place);
    fs::create_dir_all(path).map_err(fault)?;
    let folder = File::open(path).map_err(fault)?;
    match folder.metadata().map_err(fault)?.uid() {
        user if user == account.user() => return check_files(path).map(|()| folder),
        0 => {}
        user => {
            return Err(Fault::usage(format!(
                "expected a directory of root's or nobody's, found user {user}'s"
            ))
            .at(&place)
            .remedy(format!("start it as that user: sudo -u '#{user}' crosstalk boinc-project {place}")));
        }
    }
    if Journal::is_there(path) {
        Journal::replay(path, |_| Ok(()))?;
    } else {
        check_empty(path)?;
    }
    account.hand_over(&folder, is_file).map_err(|fault| fault.at(place))?;
    Ok(folder)
}

/// Refuses files of root's in a directory of nobody's. Root does not hand them over: nobody may have put
/// links to other files there.
fn check_files(path: &Path) -> Result<(), Fault> {
    let mut entries = fs::read_dir(path).into_iter().flatten().flatten();
    let is_root_s = |entry: &DirEntry| entry.metadata().is_ok_and(|status| status.uid() == 0);
    match entries.find(|entry| is_file(&entry.file_name()) && is_root_s(entry)) {
        None => Ok(()),
        Some(entry) => {
            let file = entry.path().display().to_string();
            Err(Fault::environment(
                "expected a file of the user nobody, as whom the project runs, found root's",
            )
            .remedy(format!("if it is the project's: chown nobody {file}"))
            .at(file))
        }
    }
}

/// Whether a project has a file of that name.
fn is_file(name: &OsStr) -> bool {
    is_project_s(name) || name == journal::FILE
}

#[cfg(test)]
mod tests;
