//! Sends the files in the folder of artifacts to the runner, in pieces over the agent's stream.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64ct::{Base64, Encoding};
use crosstalk_core::Fault;
use crosstalk_core::message::{ArtifactPiece, FromAgent};
use sha2::{Digest, Sha256};

use crosstalk_core::message::LARGEST_ARTIFACT;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;

/// Sends a node's artifacts to the runner. It remembers what it has sent, so that only new and
/// changed files are sent.
#[derive(Default)]
pub struct ArtifactSender {
    /// The size and time of modification of each file that was sent.
    sent: BTreeMap<PathBuf, (u64, Option<SystemTime>)>,
}

impl ArtifactSender {
    /// Sends the new and changed files of `folder`, which need not exist.
    ///
    /// # Errors
    /// If a file is too large or cannot be read, or `send` fails.
    pub fn send_new(
        &mut self,
        folder: &Path,
        send: &mut dyn FnMut(FromAgent) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for path in files(folder) {
            let failed = |e: std::io::Error| {
                Fault::environment(format!("cannot read an artifact: {e}")).at(path.display().to_string())
            };
            let metadata = fs::metadata(&path).map_err(failed)?;
            let version = (metadata.len(), metadata.modified().ok());
            if self.sent.get(&path) == Some(&version) {
                continue;
            }
            let size = metadata.len();
            if size > LARGEST_ARTIFACT {
                return Err(Fault::attempt(format!(
                    "expected artifacts of at most {LARGEST_ARTIFACT} bytes, found {size}"
                ))
                .at(path.display().to_string())
                .remedy("have the work write less, or keep it elsewhere"));
            }
            let name = path.strip_prefix(folder).ok().and_then(Path::to_str).ok_or_else(|| {
                Fault::attempt("expected a file name in UTF-8").at(path.display().to_string())
            })?;
            send(FromAgent::Artifact(ArtifactPiece::File { path: name.into(), bytes: size }))?;
            // A file that grows meanwhile is sent up to its earlier size.
            let mut rest = File::open(&path).map_err(failed)?.take(size);
            let (mut hash, mut piece) = (Sha256::new(), Vec::new());
            loop {
                piece.clear();
                rest.by_ref().take(PIECE as u64).read_to_end(&mut piece).map_err(failed)?;
                if piece.is_empty() {
                    break;
                }
                hash.update(&piece);
                send(FromAgent::Artifact(ArtifactPiece::Bytes { base64: Base64::encode_string(&piece) }))?;
            }
            send(FromAgent::Artifact(ArtifactPiece::Whole { sha256: format!("{:x}", hash.finalize()) }))?;
            self.sent.insert(path, version);
        }
        Ok(())
    }
}

/// All regular files in a folder and its subfolders, in order.
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
