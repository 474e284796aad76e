//! The project's directory: its journal, its keys, the programs for hosts, the uploads, and how to attach to
//! it.

use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crosstalk_core::Fault;
use crosstalk_host::process::fresh_mark;
use crosstalk_host::regular;
use md5::{Digest, Md5};

use super::journal::Journal;
use super::keys::KeyPair;
use super::line::{Line, ResultId, SCHEMA, Version};
use super::settings::Settings;
use super::state::{Counts, State};

/// The file with the project's attachment.
const ATTACH: &str = "attach.json";

/// The longest attachment, in bytes.
const LONGEST: u64 = 64 << 10;

/// What a client needs to attach to a project: its address and the account's key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its address, with a trailing slash.
    pub url: String,
    /// The account's key.
    pub key: String,
}

/// The directory of a project, with its files and keys.
#[derive(Debug)]
pub struct Directory {
    folder: PathBuf,
    /// Signs programs.
    pub code: KeyPair,
    /// Signs certificates.
    pub upload: KeyPair,
}

/// A project whose directory was opened, ready to be served.
#[derive(Debug)]
pub struct OpenProject {
    /// Its directory.
    pub directory: Directory,
    /// Its state.
    pub(super) state: State,
    /// Its journal.
    pub(super) journal: Journal,
    /// The account's key.
    pub key: String,
    /// The address at which it last listened.
    pub last_address: Option<SocketAddr>,
    /// Whether it was made just now.
    pub is_new: bool,
}

impl Attachment {
    /// Reads the attachment in a project's directory; `None` where there is none yet.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&regular::text(&folder.join(ATTACH), LONGEST).ok()?).ok()
    }
}

/// Replays the journal of the project in `folder`, also while the project runs; returns the counts.
///
/// # Errors
/// Where there is no journal, or it cannot be read.
pub fn read_counts(folder: &Path) -> Result<Counts, Fault> {
    let mut begun: Option<(State, String)> = None;
    Journal::replay(folder, |line| {
        let Some((state, _)) = &mut begun else {
            begun = Some(first_line(line)?);
            return Ok(());
        };
        state.apply_line(&line)
    })?;
    Ok(begun.map_or_else(Counts::default, |(state, _)| state.counts()))
}

/// The empty state and the account's key that the first line holds.
fn first_line(line: Line) -> Result<(State, String), String> {
    match line {
        Line::Project { schema, settings, key } if schema == SCHEMA => {
            settings.check().map_err(|fault| fault.sentence())?;
            Ok((State::new(settings), key))
        }
        _ => Err(format!("expected the beginning of a journal of schema {SCHEMA}")),
    }
}

/// Whether a project has a file of that name, beside its journal.
pub(super) fn is_project_s(name: &OsStr) -> bool {
    let ours = ["download", "upload", "code_key.pem", "upload_key.pem", ATTACH];
    // Files that were being written when the project was killed.
    ours.iter().any(|own| name == *own) || Path::new(name).extension().is_some_and(|end| end == "new")
}

/// Refuses a directory where no project is that has other files.
pub(super) fn check_empty(folder: &Path) -> Result<(), Fault> {
    let mut names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    match names.find(|name| !is_project_s(name)) {
        None => Ok(()),
        Some(other) => {
            let other = other.display();
            Err(Fault::usage(format!("expected an empty directory or a project's, found {other}"))
                .at(folder.display().to_string())
                .remedy("name another directory"))
        }
    }
}

impl OpenProject {
    /// The project's settings.
    pub fn settings(&self) -> &Settings {
        self.state.settings()
    }
}

impl Directory {
    /// Opens the project in `folder`, or makes a new one with `settings`.
    ///
    /// # Errors
    /// Where the directory cannot be used, another process uses it, or it holds other files.
    pub fn open(
        folder: &Path,
        mut settings: impl FnMut() -> Result<Settings, Fault>,
    ) -> Result<OpenProject, Fault> {
        let mut chosen = || settings().and_then(|settings| settings.check().map(|()| settings));
        // Wrong settings make no project.
        let prepared = if Journal::is_there(folder) { None } else { Some(chosen()?) };
        if prepared.is_some() {
            check_empty(folder)?;
        }
        for part in ["", "download", "upload"] {
            let path = folder.join(part);
            fs::create_dir_all(&path).map_err(|e| fault(&path, "cannot make it", &e))?;
        }
        let mut begun: Option<(State, String)> = None;
        let mut last_address = None;
        let mut journal = Journal::open(folder, |line| {
            let Some((state, _)) = &mut begun else {
                begun = Some(first_line(line)?);
                return Ok(());
            };
            if let Line::Address { listen, .. } = line {
                last_address = Some(listen);
            }
            state.apply_line(&line)
        })?;
        if begun.is_none() && folder.join(ATTACH).exists() {
            return Err(Fault::environment("a project was made here, and its journal is empty or gone")
                .at(folder.display().to_string())
                .remedy("restore the journal's latest copy, or name another directory"));
        }
        // Only now: with the journal locked, no other process makes keys.
        let directory = Directory {
            folder: folder.into(),
            code: KeyPair::open(&folder.join("code_key.pem"))?,
            upload: KeyPair::open(&folder.join("upload_key.pem"))?,
        };
        directory.remove_partial_files();
        let is_new = begun.is_none();
        let (state, key) = match begun {
            Some(begun) => begun,
            None => {
                let (settings, key) = (prepared.map_or_else(chosen, Ok)?, fresh_mark()?);
                journal.append(&[Line::Project { schema: SCHEMA.into(), settings, key: key.clone() }])?;
                (State::new(settings), key)
            }
        };
        Ok(OpenProject { directory, state, journal, key, last_address, is_new })
    }

    /// Removes files that were being written when the project was killed.
    fn remove_partial_files(&self) {
        for entry in fs::read_dir(self.folder.join("upload")).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|end| end == "new") {
                // A file that cannot be removed does no harm.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Adds the program that hosts are to run; `None` where it is `latest`.
    ///
    /// # Errors
    /// Where it cannot be read, or the disk is full.
    pub fn add_program(&self, program: &File, latest: Option<&Version>) -> Result<Option<Version>, Fault> {
        let path = |file: &str| self.folder.join("download").join(file);
        let named = |md5: &str| path(&format!("crosstalk_{md5}"));
        let (mut md5, mut bytes) = copy(program, &mut io::sink())
            .map_err(|e| Fault::environment(format!("cannot read the program for hosts: {e}")))?;
        // A copy that exists is not written again: a project continues on a nearly full disk.
        let there = File::open(named(&md5)).and_then(|copied| copy(&copied, &mut io::sink()));
        if !there.is_ok_and(|there| there == (md5.clone(), bytes)) {
            let beside = path("new");
            let copied = File::create(&beside).and_then(|mut file| {
                let copied = copy(program, &mut file)?;
                file.sync_all()?;
                fs::rename(&beside, named(&copied.0))?;
                sync_folder(&beside)?;
                Ok(copied)
            });
            (md5, bytes) = copied.map_err(|e| {
                fault(&beside, "cannot keep a copy of the program for hosts", &e)
                    .remedy("free some room there")
            })?;
        }
        let file = format!("crosstalk_{md5}");
        if latest.is_some_and(|latest| latest.md5 == md5) {
            return Ok(None);
        }
        let number = latest.map_or(1, |latest| latest.number + 1);
        let signature = self.code.sign_md5(&md5)?;
        Ok(Some(Version { number, file, bytes, md5, signature }))
    }

    /// The path of a program.
    pub fn program_path(&self, version: &Version) -> PathBuf {
        self.folder.join("download").join(&version.file)
    }

    /// Stores an upload. It is on disk when this returns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn store_upload(&self, result: ResultId, data: &[u8]) -> Result<(), Fault> {
        let path = self.folder.join("upload").join(result.output_name());
        replace(&path, data, 0o644).map_err(|e| fault(&path, "cannot keep an upload", &e))
    }

    /// Writes the attachment.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write_attachment(&self, attach: &Attachment) -> Result<(), Fault> {
        let path = self.folder.join(ATTACH);
        let text = serde_json::to_string(attach).unwrap_or_default() + "\n";
        replace(&path, text.as_bytes(), 0o600).map_err(|e| fault(&path, "cannot write it", &e))
    }
}

/// The present time, in Unix time, in seconds.
pub fn unix_time() -> f64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64())
}

/// Copies a file from its beginning; returns its MD5 and size.
fn copy(mut from: &File, to: &mut impl Write) -> io::Result<(String, u64)> {
    from.rewind()?;
    let (mut md5, mut bytes) = (Md5::new(), 0);
    let mut chunk = vec![0; 1 << 20];
    loop {
        let read = from.read(&mut chunk)?;
        if read == 0 {
            break;
        }
        md5.update(&chunk[..read]);
        to.write_all(&chunk[..read])?;
        bytes += read as u64;
    }
    Ok((md5.finalize().iter().map(|byte| format!("{byte:02x}")).collect(), bytes))
}

/// Writes a file that appears under its name only once it is whole and on disk.
fn replace(path: &Path, data: &[u8], mode: u32) -> io::Result<()> {
    // No other thread writes the same file meanwhile.
    let beside = path.with_extension("new");
    let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&beside)?;
    file.write_all(data)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    sync_folder(path)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn fault(path: &Path, what: &str, e: &io::Error) -> Fault {
    Fault::environment(format!("{what}: {e}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests;
