//! Tests of `merge`.

use super::*;
use crate::mapreduce::record::Number;
use crate::spill::Scratch;
use crate::spill::mock::AccessLog;
use crosstalk_comm::Access::{Seek, Sequential};

/// All of a stream, or of a merge.
fn all(mut next: impl FnMut(&mut dyn Disk) -> Option<Result<(Number, u64), Fault>>) -> Records {
    let mut disk = AccessLog::default();
    std::iter::from_fn(|| next(&mut disk)).map(|record| record.map(|(key, value)| (key.0, value))).collect()
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
    file.append(&mut AccessLog::default(), &bytes).expect("room");
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
    let ((file, end), mut disk) = (spilled(), AccessLog::default());
    let mut records = Run::new(&file, 0..end, 1024).records::<Number, u64>();
    while records(&mut disk).is_some() {}
    assert!(disk.0.iter().all(|(_, bytes)| *bytes <= 1024));
    assert_eq!(disk.bytes_and_seeks(), (end, 1), "each byte once; the head moves to the begin");
    assert_eq!((disk.0[0].0, disk.0[1].0), (Seek, Sequential));
}
