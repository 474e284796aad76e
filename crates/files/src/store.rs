//! What an I/O server holds: a piece of each file that has bytes on it, in memory, up to a limit.

use std::collections::HashMap;

use crate::message::Refusal;

/// The pieces of files on one server.
#[derive(Debug)]
pub(crate) struct Store {
    pieces: HashMap<u64, Vec<u8>>,
    held: u64,
    limit: u64,
}

impl Store {
    /// An empty store for at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Self {
        Store { pieces: HashMap::new(), held: 0, limit }
    }

    /// Bytes of all pieces.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    /// Bytes of a piece.
    pub(crate) fn size(&self, file: u64) -> u64 {
        self.pieces.get(&file).map_or(0, |piece| piece.len() as u64)
    }

    /// Writes data from `at` on, all or nothing.
    pub(crate) fn write(&mut self, file: u64, at: u64, data: &[&[u8]]) -> Result<(), Refusal> {
        let bytes: u64 = data.iter().map(|part| part.len() as u64).sum();
        let grown = at.saturating_add(bytes).saturating_sub(self.size(file));
        if grown > self.limit.saturating_sub(self.held) {
            return Err(Refusal::Full { held: self.held, limit: self.limit, more: grown });
        }
        let piece = self.pieces.entry(file).or_default();
        self.held += grown;
        let mut at = at as usize;
        if piece.len() < at {
            piece.resize(at, 0);
        }
        for part in data {
            let (over, beyond) = part.split_at(part.len().min(piece.len() - at));
            piece[at..at + over.len()].copy_from_slice(over);
            piece.extend_from_slice(beyond);
            at += part.len();
        }
        Ok(())
    }

    /// What is there of `bytes` from `at` on. The rest was never written.
    pub(crate) fn read(&self, file: u64, at: u64, bytes: u64) -> &[u8] {
        let piece = self.pieces.get(&file).map_or(&[][..], Vec::as_slice);
        let end = at.saturating_add(bytes).min(piece.len() as u64) as usize;
        &piece[(at as usize).min(end)..end]
    }

    /// Drops a piece.
    pub(crate) fn drop(&mut self, file: u64) {
        self.held -= self.pieces.remove(&file).map_or(0, |piece| piece.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beyond_the_limit_changes_nothing() {
        let mut store = Store::new(10);
        assert_eq!(store.write(1, 2, &[b"abcd", b"ef"]), Ok(()));
        assert_eq!(store.read(1, 0, 8), b"\0\0abcdef");
        let full = |more| Err(Refusal::Full { held: 8, limit: 10, more });
        assert_eq!(store.write(2, 0, &[b"xyz"]), full(3));
        assert_eq!(store.write(1, u64::MAX, &[b"x"]), full(u64::MAX - 8));
        assert_eq!((store.held(), store.size(2)), (8, 0));
        // What takes no further room is written.
        assert_eq!(store.write(1, 6, &[b"12"]), Ok(()));
        assert_eq!(store.write(1, 6, &[b"3456"]), Ok(()));
        assert_eq!((store.held(), store.read(1, 4, 99)), (10, &b"cd3456"[..]));
        store.drop(1);
        assert_eq!((store.held(), store.read(1, 0, 1)), (0, &b""[..]));
    }
}
