//! What work has left on nodes, as it comes home: checked, and stored in the run's folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use base64ct::{Base64, Encoding};
use crosstalk_core::Fault;
use crosstalk_core::message::Piece;
use sha2::{Digest, Sha256};

use crate::troupe::Seat;
use crosstalk_core::message::LARGEST_ARTIFACT;

/// Where it is stored; dropped files that have not come whole are taken away.
pub struct Inbox<'a> {
    /// `None`: nowhere.
    folder: Option<&'a Path>,
    open: BTreeMap<Seat, Coming>,
}

impl<'a> Inbox<'a> {
    pub fn new(folder: Option<&'a Path>) -> Self {
        Inbox { folder, open: BTreeMap::new() }
    }

    /// Takes the next piece from the agent at `seat`.
    ///
    /// # Errors
    /// Where it is not what was announced, or cannot be stored.
    pub fn take(&mut self, seat: Seat, piece: Piece) -> Result<(), Fault> {
        let Some(folder) = self.folder else { return Ok(()) };
        let unannounced = || Fault::attempt("sent a piece of a file that it did not announce");
        match piece {
            Piece::File { path, bytes } => {
                self.open.insert(seat, Coming::begin(folder, &path, bytes)?);
                Ok(())
            }
            Piece::Bytes { base64 } => self.open.get_mut(&seat).ok_or_else(unannounced)?.add(&base64),
            Piece::Whole { sha256 } => self.open.remove(&seat).ok_or_else(unannounced)?.end(&sha256),
        }
    }
}

/// A file on its way.
struct Coming {
    path: PathBuf,
    part: PathBuf,
    file: File,
    hash: Sha256,
    left: u64,
}

impl Coming {
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
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create(&part));
        let file = made.map_err(|e| unstored(&path, &e))?;
        Ok(Coming { path, part, file, hash: Sha256::new(), left: bytes })
    }

    fn add(&mut self, base64: &str) -> Result<(), Fault> {
        let bytes = Base64::decode_vec(base64).map_err(|e| self.damaged(&format!("not base64: {e}")))?;
        self.left = self
            .left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| self.damaged("more bytes than announced"))?;
        self.hash.update(&bytes);
        self.file.write_all(&bytes).map_err(|e| unstored(&self.path, &e))
    }

    fn end(self, sha256: &str) -> Result<(), Fault> {
        if self.left > 0 {
            return Err(self.damaged(&format!("{} bytes are missing", self.left)));
        }
        if format!("{:x}", self.hash.clone().finalize()) != sha256 {
            return Err(self.damaged("its SHA-256 is another"));
        }
        fs::rename(&self.part, &self.path).map_err(|e| unstored(&self.path, &e))
    }

    fn damaged(&self, how: &str) -> Fault {
        Fault::attempt(format!("a file did not come home whole: {how}")).at(file_name(&self.path))
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        // One that is whole has its own name by now.
        let _ = fs::remove_file(&self.part);
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn unstored(path: &Path, error: &std::io::Error) -> Fault {
    Fault::environment(format!("cannot store what work has left: {error}")).at(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::outbox::Outbox;
    use crosstalk_core::message::FromAgent;

    const SEAT: Seat = (0, 0);

    /// Sends all that is new from one folder to the other; how many pieces that took.
    fn carry(outbox: &mut Outbox, from: &Path, to: &Path) -> Result<usize, Fault> {
        let (mut inbox, mut pieces) = (Inbox::new(Some(to)), 0);
        outbox.send(from, &mut |message| {
            pieces += 1;
            match message {
                FromAgent::Artifact(piece) => inbox.take(SEAT, piece),
                other => panic!("only files are sent, found {other:?}"),
            }
        })?;
        Ok(pieces)
    }

    #[test]
    fn files_come_home_whole_and_again_only_when_they_have_changed() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (mut outbox, large) = (Outbox::default(), vec![7; 3 << 20]);
        assert_eq!(carry(&mut outbox, &from.path().join("none"), to.path()), Ok(0));
        fs::create_dir(from.path().join("logs")).expect("makes");
        fs::write(from.path().join("logs/large"), &large).expect("writes");
        fs::write(from.path().join("empty"), "").expect("writes");
        assert_eq!(carry(&mut outbox, from.path(), to.path()), Ok(2 + 2 + 3));
        assert_eq!(fs::read(to.path().join("logs/large")).expect("came"), large);
        assert_eq!(fs::read(to.path().join("empty")).expect("came"), b"");
        assert_eq!(carry(&mut outbox, from.path(), to.path()), Ok(0));
        fs::write(from.path().join("empty"), "more").expect("writes");
        assert_eq!(carry(&mut outbox, from.path(), to.path()), Ok(3));
        assert_eq!(fs::read(to.path().join("empty")).expect("came"), b"more");
    }

    #[test]
    fn what_is_too_large_is_refused_where_it_is() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = File::create(from.path().join("x")).expect("makes");
        file.set_len(LARGEST_ARTIFACT + 1).expect("takes no room");
        let fault = carry(&mut Outbox::default(), from.path(), to.path()).expect_err("too large");
        assert!(fault.place.is_some_and(|place| place.ends_with("/x")) && fault.remedy.is_some());
        assert!(Coming::begin(to.path(), "x", LARGEST_ARTIFACT + 1).is_err());
    }

    #[test]
    fn what_is_damaged_or_leads_elsewhere_is_not_stored() {
        let to = tempfile::tempdir().expect("a folder");
        let file = |path: &str, bytes| Piece::File { path: path.into(), bytes };
        let bytes = |base64: &str| Piece::Bytes { base64: base64.into() };
        let whole = |sha256: &str| Piece::Whole { sha256: sha256.into() };
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
            let mut inbox = Inbox::new(Some(to.path()));
            let taken = pieces.iter().try_for_each(|piece| inbox.take(SEAT, piece.clone()));
            assert!(taken.is_err(), "{pieces:?}");
        }
        let left = fs::read_dir(to.path()).expect("is there").count();
        assert_eq!(left, 0, "nothing of it is kept");
    }
}
