//! Receives the artifacts of an attempt from its agents: checks them, and stores them in the run's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use base64ct::{Base64, Encoding};
use crosstalk_core::Fault;
use crosstalk_core::message::ArtifactPiece;
use sha2::{Digest, Sha256};

use crate::agent_pool::AgentId;
use crosstalk_core::message::LARGEST_ARTIFACT;

/// Stores the artifacts of an attempt. Dropping it removes files that are incomplete.
pub struct ArtifactStore<'a> {
    /// The run's folder of artifacts; `None`: artifacts are dropped.
    folder: Option<&'a Path>,
    /// The incomplete file of each agent.
    incoming: BTreeMap<AgentId, IncomingFile>,
}

impl<'a> ArtifactStore<'a> {
    /// A store that writes into `folder`; without one it discards all artifacts.
    pub fn new(folder: Option<&'a Path>) -> Self {
        ArtifactStore { folder, incoming: BTreeMap::new() }
    }

    /// Stores the next piece from an agent. After a fault the rest of that file is refused: it would be stored without
    /// the piece that failed.
    ///
    /// # Errors
    /// If it is not what the agent announced, or cannot be stored.
    pub fn store_piece(&mut self, agent: AgentId, piece: ArtifactPiece) -> Result<(), Fault> {
        let Some(folder) = self.folder else { return Ok(()) };
        let unannounced = || Fault::attempt("sent a piece of a file that it did not announce");
        match piece {
            ArtifactPiece::File { path, bytes } => {
                self.incoming.insert(agent, IncomingFile::begin(folder, &path, bytes)?);
                Ok(())
            }
            ArtifactPiece::Bytes { base64 } => {
                let added = self.incoming.get_mut(&agent).ok_or_else(unannounced)?.add(&base64);
                if added.is_err() {
                    self.incoming.remove(&agent);
                }
                added
            }
            ArtifactPiece::Whole { sha256 } => {
                self.incoming.remove(&agent).ok_or_else(unannounced)?.end(&sha256)
            }
        }
    }
}

/// A file that is incomplete.
struct IncomingFile {
    /// Its path once it is complete.
    path: PathBuf,
    /// Its path until then.
    part: PathBuf,
    file: File,
    hash: Sha256,
    /// Bytes that are still to come.
    missing: u64,
}

impl IncomingFile {
    fn begin(folder: &Path, name: &str, bytes: u64) -> Result<Self, Fault> {
        let within = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || !within {
            return Err(Fault::attempt("expected the path of a file within the folder").at(name));
        }
        if bytes > LARGEST_ARTIFACT {
            return Err(
                Fault::attempt(format!("expected at most {LARGEST_ARTIFACT} bytes, found {bytes}")).at(name)
            );
        }
        let path = folder.join(name);
        let part = path.with_file_name(format!("{}.part", file_name(&path)));
        let created = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&part));
        let file = created.map_err(|e| cannot_store(&path, &e))?;
        Ok(IncomingFile { path, part, file, hash: Sha256::new(), missing: bytes })
    }

    fn add(&mut self, base64: &str) -> Result<(), Fault> {
        let bytes = Base64::decode_vec(base64).map_err(|e| self.damaged(&format!("not base64: {e}")))?;
        self.missing = self
            .missing
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| self.damaged("more bytes than announced"))?;
        self.hash.update(&bytes);
        self.file.write_all(&bytes).map_err(|e| cannot_store(&self.path, &e))
    }

    fn end(self, sha256: &str) -> Result<(), Fault> {
        if self.missing > 0 {
            return Err(self.damaged(&format!("{} bytes are missing", self.missing)));
        }
        if format!("{:x}", self.hash.clone().finalize()) != sha256 {
            return Err(self.damaged("its SHA-256 is another"));
        }
        // Some file systems report a full disk only now.
        let stored = self.file.sync_data().and_then(|()| fs::rename(&self.part, &self.path));
        stored.map_err(|e| cannot_store(&self.path, &e))
    }

    fn damaged(&self, how: &str) -> Fault {
        Fault::attempt(format!("an artifact arrived damaged: {how}")).at(file_name(&self.path))
    }
}

impl Drop for IncomingFile {
    fn drop(&mut self) {
        // A complete file has been renamed.
        let _ = fs::remove_file(&self.part);
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn cannot_store(path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot store an artifact: {error}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::artifact_sender::ArtifactSender;
    use crosstalk_core::message::FromAgent;

    const AGENT: AgentId = AgentId { slot: 0, node: 0 };

    /// Sends all new files from one folder to the other. Returns the number of pieces.
    fn transfer(sender: &mut ArtifactSender, from: &Path, to: &Path) -> Result<usize, Fault> {
        let (mut store, mut pieces) = (ArtifactStore::new(Some(to)), 0);
        sender.send_new(from, &mut |message| {
            pieces += 1;
            match message {
                FromAgent::Artifact(piece) => store.store_piece(AGENT, piece),
                other => panic!("only files are sent, found {other:?}"),
            }
        })?;
        Ok(pieces)
    }

    #[test]
    fn files_arrive_complete_and_again_only_when_they_have_changed() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (mut sender, large) = (ArtifactSender::default(), vec![7; 3 << 20]);
        assert_eq!(transfer(&mut sender, &from.path().join("none"), to.path()), Ok(0));
        fs::create_dir(from.path().join("logs")).expect("makes");
        fs::write(from.path().join("logs/large"), &large).expect("writes");
        fs::write(from.path().join("empty"), "").expect("writes");
        assert_eq!(transfer(&mut sender, from.path(), to.path()), Ok(2 + 2 + 3));
        assert_eq!(fs::read(to.path().join("logs/large")).expect("came"), large);
        assert_eq!(fs::read(to.path().join("empty")).expect("came"), b"");
        assert_eq!(transfer(&mut sender, from.path(), to.path()), Ok(0));
        fs::write(from.path().join("empty"), "more").expect("writes");
        assert_eq!(transfer(&mut sender, from.path(), to.path()), Ok(3));
        assert_eq!(fs::read(to.path().join("empty")).expect("came"), b"more");
    }

    #[test]
    fn a_file_that_is_too_large_is_refused_by_its_sender() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = File::create(from.path().join("x")).expect("makes");
        file.set_len(LARGEST_ARTIFACT + 1).expect("takes no room");
        let fault = transfer(&mut ArtifactSender::default(), from.path(), to.path()).expect_err("too large");
        assert!(fault.place.is_some_and(|place| place.ends_with("/x")) && fault.remedy.is_some());
        assert!(IncomingFile::begin(to.path(), "x", LARGEST_ARTIFACT + 1).is_err());
    }

    #[test]
    fn a_file_for_which_the_disk_has_no_room_is_not_stored_by_its_later_pieces() {
        let to = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink("/dev/full", to.path().join("x.part")).expect("links");
        let mut store = ArtifactStore::new(Some(to.path()));
        let mut stored = |piece| store.store_piece(AGENT, piece);
        assert_eq!(stored(ArtifactPiece::File { path: "x".into(), bytes: 3 }), Ok(()));
        let full = stored(ArtifactPiece::Bytes { base64: "AAAA".into() }).expect_err("is full");
        assert!(full.to_string().contains("No space left"), "{full}");
        let sha256 = format!("{:x}", Sha256::digest([0; 3]));
        assert!(stored(ArtifactPiece::Whole { sha256 }).is_err());
        assert_eq!(fs::read_dir(to.path()).expect("is there").count(), 0, "nothing of it is kept");
    }

    #[test]
    fn a_file_that_is_damaged_or_outside_the_folder_is_not_stored() {
        let to = tempfile::tempdir().expect("a folder");
        let file = |path: &str, bytes| ArtifactPiece::File { path: path.into(), bytes };
        let bytes = |base64: &str| ArtifactPiece::Bytes { base64: base64.into() };
        let whole = |sha256: &str| ArtifactPiece::Whole { sha256: sha256.into() };
        let cases = [
            vec![file("../x", 1)],
            vec![file("/x", 1)],
            vec![file("", 1)],
            vec![bytes("AAAA")],
            vec![whole("")],
            vec![file("x", 3), bytes("?")],
            vec![file("x", 2), bytes("AAAA")],
            vec![file("x", 4), bytes("AAAA"), whole("")],
            vec![file("x", 3), bytes("AAAA"), whole(&"0".repeat(64))],
        ];
        for pieces in cases {
            let mut store = ArtifactStore::new(Some(to.path()));
            let stored = pieces.iter().try_for_each(|piece| store.store_piece(AGENT, piece.clone()));
            assert!(stored.is_err(), "{pieces:?}");
        }
        let left = fs::read_dir(to.path()).expect("is there").count();
        assert_eq!(left, 0, "nothing of it is kept");
    }
}
