//! What work has left in the folder of artifacts, on its way home: in pieces over the agent's stream.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64ct::{Base64, Encoding};
use crosstalk_core::Fault;
use crosstalk_core::message::{FromAgent, Piece};
use sha2::{Digest, Sha256};

use crosstalk_core::message::LARGEST_ARTIFACT;

/// Bytes in a piece.
const PIECE: usize = 1 << 20;

/// What was sent so far, so that only what is new or has changed is sent again.
#[derive(Default)]
pub struct Outbox {
    /// Size and time of the last change, by file.
    sent: BTreeMap<PathBuf, (u64, Option<SystemTime>)>,
}

impl Outbox {
    /// Sends what is new in `folder`, which need not be there.
    ///
    /// # Errors
    /// Where a file is too large or cannot be read, or nobody listens.
    pub fn send(
        &mut self,
        folder: &Path,
        say: &mut dyn FnMut(FromAgent) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for path in files(folder) {
            let failed = |e: std::io::Error| {
                Fault::environment(format!("cannot read what work has left: {e}"))
                    .at(path.display().to_string())
            };
            let known = fs::metadata(&path).map_err(failed)?;
            let now = (known.len(), known.modified().ok());
            if self.sent.get(&path) == Some(&now) {
                continue;
            }
            if now.0 > LARGEST_ARTIFACT {
                return Err(Fault::attempt(format!(
                    "work has left a file of {} bytes, and at most {LARGEST_ARTIFACT} are taken home",
                    now.0
                ))
                .at(path.display().to_string())
                .remedy("have the work write less, or keep it elsewhere"));
            }
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str).ok_or_else(|| {
                Fault::attempt("expected a file name in UTF-8").at(path.display().to_string())
            })?;
            say(FromAgent::Artifact(Piece::File { path: name.into(), bytes: now.0 }))?;
            // One that grows meanwhile is sent as it was.
            let mut left = File::open(&path).map_err(failed)?.take(now.0);
            let (mut hash, mut piece) = (Sha256::new(), Vec::new());
            loop {
                piece.clear();
                left.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(failed)?;
                if piece.is_empty() {
                    break;
                }
                hash.update(&piece);
                say(FromAgent::Artifact(Piece::Bytes { base64: Base64::encode_string(&piece) }))?;
            }
            say(FromAgent::Artifact(Piece::Whole { sha256: format!("{:x}", hash.finalize()) }))?;
            self.sent.insert(path, now);
        }
        Ok(())
    }
}

/// All regular files in a folder and those below, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort_unstable();
    found
}
