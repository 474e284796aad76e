//! Passes over documents, beside what earlier passes found for each of them.

use crosstalk_core::Fault;

use super::node::Node;
use super::record::Head;
use crate::mapreduce::budget::Room;
use crate::mapreduce::cluster::Cluster;
use crate::mapreduce::spool::{Reader, Spool};
use crate::spill::Disk;

/// Reads documents beside what earlier passes found for each of them.
pub struct Lockstep<'a> {
    documents: Reader<'a>,
    found: Vec<Reader<'a>>,
    /// What several passes found for the last document.
    joined: Vec<u8>,
}

/// A document, and what was found for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its head.
    pub head: Head,
    /// Its content.
    pub content: &'a [u8],
    /// What all passes found for it, one after the other.
    pub found: &'a [u8],
}

impl<'a> Lockstep<'a> {
    /// All of `documents`; each of `found` has a record for every one, in their order.
    pub fn new(documents: &'a Spool, found: &'a [Spool]) -> Self {
        let found = found.iter().map(Spool::reader).collect();
        Lockstep { documents: documents.reader(), found, joined: Vec::new() }
    }

    /// The next document; `None` after the last.
    ///
    /// # Errors
    /// An attempt fault where it cannot be read.
    pub fn read(&mut self, disk: &mut dyn Disk) -> Result<Option<Document<'_>>, Fault> {
        let Some(document) = self.documents.read(disk)? else { return Ok(None) };
        let (head, content) = Head::split_record(document)?;
        if self.found.len() == 1 {
            let found = found_for(head, &mut self.found[0], disk)?;
            return Ok(Some(Document { head, content, found }));
        }
        self.joined.clear();
        for found in &mut self.found {
            self.joined.extend_from_slice(found_for(head, found, disk)?);
        }
        Ok(Some(Document { head, content, found: &self.joined }))
    }
}

/// The next record of a reader, which must be of the document with this head.
fn found_for<'r>(head: Head, reader: &'r mut Reader, disk: &mut dyn Disk) -> Result<&'r [u8], Fault> {
    let (other, found) = Head::split_record(reader.read(disk)?.unwrap_or_default())?;
    if other == head {
        return Ok(found);
    }
    let (one, other) = (head.number, other.number);
    Err(Fault::attempt(format!("expected what was found for page {one}, found that for page {other}")))
}

/// What several passes found, each in a spool of its own, so that nothing is written at every pass again.
#[derive(Default)]
pub struct Layers(Vec<Spool>);

impl Layers {
    /// Adds what a pass found.
    pub fn push(&mut self, layer: Spool) {
        self.0.push(layer);
    }

    /// What each pass found.
    pub fn as_slice(&self) -> &[Spool] {
        &self.0
    }

    /// Makes all layers together take the memory of one spool: a single one may be in memory, several are on disk.
    /// As many as are merged at once become one.
    ///
    /// # Errors
    /// An attempt fault where the disk fails.
    pub fn fit<C: Cluster>(&mut self, node: &mut Node<C>) -> Result<(), Fault> {
        let (budget, mut into) = (node.memory.budget(), node.spool());
        node.cluster.parallel(|disk| {
            if let [only] = self.0.as_mut_slice() {
                return only.set_memory(disk, budget.spool_memory());
            }
            let room = Room { buffer: 0, window: budget.window_bytes(self.0.len()) };
            self.0.iter_mut().try_for_each(|layer| layer.set_memory(disk, room))?;
            if self.0.len() >= budget.fan_in() {
                join(disk, &self.0, &mut into)?;
                self.0 = vec![into];
            }
            Ok(())
        })
    }
}

/// Writes what all `layers` found into one.
fn join(disk: &mut dyn Disk, layers: &[Spool], into: &mut Spool) -> Result<(), Fault> {
    let Some((first, later)) = layers.split_first() else { return Ok(()) };
    let (mut reader, mut record) = (Lockstep::new(first, later), Vec::new());
    while let Some(Document { head, content, found }) = reader.read(disk)? {
        head.begin_record(&mut record);
        record.extend_from_slice(content);
        record.extend_from_slice(found);
        into.push(disk, &record)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spill::Scratch;
    use crate::spill::mock::AccessLog;

    /// A record of each page.
    fn spool(numbers: &[u32], content: &[u8], disk: &mut AccessLog) -> Spool {
        let room = Room { buffer: 20, window: 20 };
        let (mut spool, mut record) = (Spool::new(&Scratch::temporary(), room), Vec::new());
        for number in numbers {
            Head { number: *number, label: 3, test: false }.begin_record(&mut record);
            record.extend_from_slice(content);
            spool.push(disk, &record).expect("pushed");
        }
        spool
    }

    #[test]
    fn a_document_is_read_beside_what_all_passes_found_for_it() {
        let mut disk = AccessLog::default();
        let documents = spool(&[4, 7], b"words", &mut disk);
        let found = [spool(&[4, 7], b"one", &mut disk), spool(&[4, 7], b"two", &mut disk)];
        for (layers, expected) in [(0, &b""[..]), (1, b"one"), (2, b"onetwo")] {
            let mut reader = Lockstep::new(&documents, &found[..layers]);
            for number in [4, 7] {
                let document = reader.read(&mut disk).expect("reads").expect("a document");
                let Document { head, content, found } = document;
                assert_eq!((head.number, content, found), (number, &b"words"[..], expected));
            }
            assert!(reader.read(&mut disk).expect("reads").is_none());
        }
        let mut joined = spool(&[], b"", &mut disk);
        join(&mut disk, &found, &mut joined).expect("joined");
        let mut reader = joined.reader();
        let record = reader.read(&mut disk).expect("reads").expect("a record");
        assert_eq!(Head::split_record(record).expect("splits").1, b"onetwo");
    }

    #[test]
    fn what_was_found_for_another_document_is_a_fault() {
        let mut disk = AccessLog::default();
        let (documents, found) = (spool(&[4, 7], b"words", &mut disk), [spool(&[4, 9], b"one", &mut disk)]);
        let mut reader = Lockstep::new(&documents, &found);
        assert!(reader.read(&mut disk).is_ok());
        let fault = reader.read(&mut disk).expect_err("another page's");
        assert_eq!(fault.message, "expected what was found for page 7, found that for page 9");
    }
}
