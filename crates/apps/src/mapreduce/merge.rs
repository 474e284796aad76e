//! Many sorted streams into one, equal keys' values added up.

use crosstalk_core::Fault;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use super::record::{Key, Value};
use super::spool::Reader;
use crate::spill::{Disk, SpillFile};

/// Gives records in the order of their keys, until there is none.
pub type Stream<'a, K, V> = Box<dyn FnMut(&mut dyn Disk) -> Option<Result<(K, V), Fault>> + 'a>;

/// One stream out of many.
pub struct Merge<'a, K, V> {
    streams: Vec<Stream<'a, K, V>>,
    /// The next key of every stream that has one.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    values: Vec<V>,
    failed: Option<Fault>,
    begun: bool,
}

impl<'a, K: Key, V: Value> Merge<'a, K, V> {
    /// Of these, each in the order of its keys, of which it has every one once.
    pub fn new(streams: Vec<Stream<'a, K, V>>) -> Self {
        Merge {
            values: streams.iter().map(|_| V::default()).collect(),
            heads: BinaryHeap::with_capacity(streams.len()),
            streams,
            failed: None,
            begun: false,
        }
    }

    fn advance(&mut self, disk: &mut dyn Disk, index: usize) {
        match (self.streams[index])(disk) {
            Some(Ok((key, value))) => {
                self.values[index] = value;
                self.heads.push(Reverse((key, index)));
            }
            Some(Err(fault)) => self.failed = Some(fault),
            None => {}
        }
    }

    /// The next record; `None` after the last.
    pub fn next(&mut self, disk: &mut dyn Disk) -> Option<Result<(K, V), Fault>> {
        // A stream has each key once: one alone needs no merging.
        if let [only] = self.streams.as_mut_slice() {
            return only(disk);
        }
        if !std::mem::replace(&mut self.begun, true) {
            (0..self.streams.len()).for_each(|index| self.advance(disk, index));
        }
        if let Some(fault) = self.failed.take() {
            return Some(Err(fault));
        }
        let (key, mut sum) = self.first(disk)?;
        while let Some(Reverse((next, _))) = self.heads.peek()
            && *next == key
            && let Some((_, value)) = self.first(disk)
        {
            sum.add(&value);
        }
        Some(Ok((key, sum)))
    }

    /// The first of all streams' records; its stream's next one takes its place,
    /// which sorts once where taking and putting would sort twice.
    fn first(&mut self, disk: &mut dyn Disk) -> Option<(K, V)> {
        let mut head = self.heads.peek_mut()?;
        let index = head.0.1;
        match (self.streams[index])(disk) {
            Some(Ok((next, value))) => {
                let key = std::mem::replace(&mut head.0.0, next);
                Some((key, std::mem::replace(&mut self.values[index], value)))
            }
            ended => {
                self.failed = ended.and_then(Result::err).or(self.failed.take());
                let Reverse((key, _)) = PeekMut::pop(head);
                Some((key, std::mem::take(&mut self.values[index])))
            }
        }
    }
}

/// A sorted run on disk.
pub struct Run<'a> {
    file: &'a SpillFile,
    /// What has not been read yet.
    left: Range<u64>,
    window: Vec<u8>,
    /// Where the next record begins in the window.
    at: usize,
    /// Bytes to read at once.
    size: usize,
}

/// More than any record has.
const RECORD: usize = 512;

impl<'a> Run<'a> {
    /// The records in these bytes of the file.
    pub fn new(file: &'a SpillFile, left: Range<u64>, size: usize) -> Self {
        Run { file, left, window: Vec::new(), at: 0, size: size.max(2 * RECORD) }
    }

    fn fill(&mut self, disk: &mut dyn Disk) -> Result<(), Fault> {
        self.window.drain(..self.at);
        self.at = 0;
        let kept = self.window.len();
        let more = ((self.left.end - self.left.start) as usize).min(self.size - kept);
        self.window.resize(kept + more, 0);
        self.file.read(disk, self.left.start, &mut self.window[kept..])?;
        self.left.start += more as u64;
        Ok(())
    }

    /// The run as records.
    pub fn records<K: Key + 'a, V: Value + 'a>(mut self) -> Stream<'a, K, V> {
        Box::new(move |disk| {
            if self.window.len() - self.at < RECORD
                && !self.left.is_empty()
                && let Err(fault) = self.fill(disk)
            {
                return Some(Err(fault));
            }
            let mut from = &self.window[self.at..];
            if from.is_empty() {
                return None;
            }
            let record = record(&mut from);
            self.at = self.window.len() - from.len();
            Some(record)
        })
    }
}

/// The records in a spool's strings, each of which holds whole ones.
pub fn spooled<'a, K: Key + 'a, V: Value + 'a>(mut reader: Reader<'a>) -> Stream<'a, K, V> {
    let (mut block, mut at) = (Vec::new(), 0);
    Box::new(move |disk| {
        while at == block.len() {
            block.clear();
            at = 0;
            match reader.read(disk) {
                Ok(Some(string)) => block.extend_from_slice(string),
                Ok(None) => return None,
                Err(fault) => return Some(Err(fault)),
            }
        }
        let mut from = &block[at..];
        let record = record(&mut from);
        at = block.len() - from.len();
        Some(record)
    })
}

fn record<K: Key, V: Value>(from: &mut &[u8]) -> Result<(K, V), Fault> {
    let record = K::read(from).and_then(|key| Some((key, V::read(from)?)));
    record.ok_or_else(|| {
        *from = &[];
        Fault::attempt("a record of a sorted run was cut short")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::record::Number;
    use crate::spill::Scratch;
    use crate::spill::mock::Told;
    use crosstalk_comm::Access::{Onward, Seek};

    /// All of a stream, or of a merge.
    fn all(mut next: impl FnMut(&mut dyn Disk) -> Option<Result<(Number, u64), Fault>>) -> Records {
        let mut disk = Told::default();
        std::iter::from_fn(|| next(&mut disk))
            .map(|record| record.map(|(key, value)| (key.0, value)))
            .collect()
    }

    type Records = Result<Vec<(u64, u64)>, Fault>;

    /// `None`: the stream is torn here.
    fn merged(streams: &[&[Option<(u64, u64)>]]) -> Records {
        fn records<'a>(stream: &&'a [Option<(u64, u64)>]) -> Stream<'a, Number, u64> {
            let mut records = stream.iter();
            Box::new(move |_| {
                let record = records.next()?.map(|(key, value)| (Number(key), value));
                Some(record.ok_or_else(|| Fault::attempt("torn")))
            })
        }
        let mut merge = Merge::new(streams.iter().map(records).collect());
        all(|disk| merge.next(disk))
    }

    #[test]
    fn equal_keys_become_one() {
        let streams: [&[_]; 4] =
            [&[Some((1, 1)), Some((3, 1))], &[], &[Some((1, 4)), Some((2, 7))], &[Some((1, 2))]];
        assert_eq!(merged(&streams), Ok(vec![(1, 7), (2, 7), (3, 1)]));
    }

    #[test]
    fn a_stream_that_fails_fails_the_whole() {
        assert!(merged(&[&[None]]).is_err());
        assert!(merged(&[&[Some((1, 1)), None], &[Some((1, 1))]]).is_err());
    }

    /// 200 records on a disk, and their bytes.
    fn spilled() -> (SpillFile, u64) {
        let mut bytes = Vec::new();
        for key in 0..200_u64 {
            Number(key).write(&mut bytes);
            (key << 20).write(&mut bytes);
        }
        let file = SpillFile::new(&Scratch::temporary()).expect("a file");
        file.append(&mut Told::default(), &bytes).expect("room");
        (file, bytes.len() as u64)
    }

    #[test]
    fn a_record_that_was_cut_is_a_fault() {
        let (file, end) = spilled();
        let read = |end: u64| all(Run::new(&file, 0..end, 0).records::<Number, u64>());
        assert_eq!(read(end), Ok((0..200).map(|key| (key, key << 20)).collect()));
        assert!(read(end - 1).is_err());
        assert!(read(end + 1).is_err(), "a file that is too short");
    }

    #[test]
    fn a_run_is_read_front_to_back_a_window_at_a_time() {
        let ((file, end), mut disk) = (spilled(), Told::default());
        let mut records = Run::new(&file, 0..end, 1024).records::<Number, u64>();
        while records(&mut disk).is_some() {}
        assert!(disk.0.iter().all(|(_, bytes)| *bytes <= 1024));
        assert_eq!(disk.moved(), (end, 1), "each byte once; the head moves to the begin");
        assert_eq!((disk.0[0].0, disk.0[1].0), (Seek, Onward));
    }
}
