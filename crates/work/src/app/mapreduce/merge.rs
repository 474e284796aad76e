//! Many sorted streams into one, equal keys' values added up.

use crosstalk_core::Fault;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::record::{Key, Value};
use super::spool::Reader;

/// Records in the order of their keys.
pub type Stream<'a, K, V> = Box<dyn Iterator<Item = Result<(K, V), Fault>> + 'a>;

/// One stream out of many.
pub struct Merge<'a, K, V> {
    streams: Vec<Stream<'a, K, V>>,
    /// The next key of every stream that has one.
    heads: BinaryHeap<Reverse<(K, usize)>>,
    values: Vec<V>,
    failed: Option<Fault>,
}

impl<'a, K: Key, V: Value> Merge<'a, K, V> {
    /// Of these, each in the order of its keys, of which it has every one once.
    pub fn new(streams: Vec<Stream<'a, K, V>>) -> Self {
        let mut merge = Merge {
            values: streams.iter().map(|_| V::default()).collect(),
            heads: BinaryHeap::with_capacity(streams.len()),
            streams,
            failed: None,
        };
        if merge.streams.len() > 1 {
            (0..merge.streams.len()).for_each(|index| merge.advance(index));
        }
        merge
    }

    fn advance(&mut self, index: usize) {
        match self.streams[index].next() {
            Some(Ok((key, value))) => {
                self.values[index] = value;
                self.heads.push(Reverse((key, index)));
            }
            Some(Err(fault)) => self.failed = Some(fault),
            None => {}
        }
    }
}

impl<K: Key, V: Value> Iterator for Merge<'_, K, V> {
    type Item = Result<(K, V), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        // A stream has each key once: one alone needs no merging.
        if let [only] = self.streams.as_mut_slice() {
            return only.next();
        }
        if let Some(fault) = self.failed.take() {
            return Some(Err(fault));
        }
        let Reverse((key, index)) = self.heads.pop()?;
        let mut sum = std::mem::take(&mut self.values[index]);
        self.advance(index);
        while let Some(Reverse((next, _))) = self.heads.peek()
            && *next == key
            && let Some(Reverse((_, index))) = self.heads.pop()
        {
            sum.add(&self.values[index]);
            self.advance(index);
        }
        Some(Ok((key, sum)))
    }
}

/// A sorted run on disk.
pub struct Run<'a> {
    file: &'a File,
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
    pub fn new(file: &'a File, left: Range<u64>, size: usize) -> Self {
        Run { file, left, window: Vec::new(), at: 0, size: size.max(2 * RECORD) }
    }

    fn fill(&mut self) -> Result<(), Fault> {
        self.window.drain(..self.at);
        self.at = 0;
        let kept = self.window.len();
        let more = ((self.left.end - self.left.start) as usize).min(self.size - kept);
        self.window.resize(kept + more, 0);
        self.file
            .read_exact_at(&mut self.window[kept..], self.left.start)
            .map_err(|e| Fault::environment(format!("cannot read what was spilled: {e}")))?;
        self.left.start += more as u64;
        Ok(())
    }

    /// The run as records.
    pub fn records<K: Key + 'a, V: Value + 'a>(mut self) -> Stream<'a, K, V> {
        Box::new(std::iter::from_fn(move || {
            if self.window.len() - self.at < RECORD
                && !self.left.is_empty()
                && let Err(fault) = self.fill()
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
        }))
    }
}

/// The records in a spool's strings, each of which holds whole ones.
pub fn spooled<'a, K: Key + 'a, V: Value + 'a>(mut reader: Reader<'a>) -> Stream<'a, K, V> {
    let (mut block, mut at) = (Vec::new(), 0);
    Box::new(std::iter::from_fn(move || {
        while at == block.len() {
            block.clear();
            at = 0;
            match reader.read() {
                Ok(Some(string)) => block.extend_from_slice(string),
                Ok(None) => return None,
                Err(fault) => return Some(Err(fault)),
            }
        }
        let mut from = &block[at..];
        let record = record(&mut from);
        at = block.len() - from.len();
        Some(record)
    }))
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
    use crate::app::mapreduce::record::Number;

    /// `None`: the stream is torn here.
    fn merged(streams: &[&[Option<(u64, u64)>]]) -> Result<Vec<(u64, u64)>, Fault> {
        fn records<'a>(stream: &&'a [Option<(u64, u64)>]) -> Stream<'a, Number, u64> {
            let record = |record: &Option<(u64, u64)>| {
                record.map(|(key, value)| (Number(key), value)).ok_or_else(|| Fault::attempt("torn"))
            };
            Box::new(stream.iter().map(record))
        }
        Merge::new(streams.iter().map(records).collect())
            .map(|record| record.map(|(key, value)| (key.0, value)))
            .collect()
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

    #[test]
    fn a_record_that_was_cut_is_a_fault() {
        use std::io::Write;
        let mut file = tempfile::tempfile().expect("a file");
        let mut bytes = Vec::new();
        for key in 0..200_u64 {
            Number(key).write(&mut bytes);
            (key << 20).write(&mut bytes);
        }
        file.write_all(&bytes).expect("written");
        let read = |end: usize| {
            Run::new(&file, 0..end as u64, 0).records::<Number, u64>().collect::<Result<Vec<_>, _>>()
        };
        assert_eq!(read(bytes.len()), Ok((0..200).map(|key| (Number(key), key << 20)).collect()));
        assert!(read(bytes.len() - 1).is_err());
        assert!(read(bytes.len() + 1).is_err(), "a file that is too short");
    }
}
