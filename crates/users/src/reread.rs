//! Users that read a file of theirs: again and again and slowly, or through more than there is memory.
//!
//! Whether pages of slow readers survive beside a streaming reader is what a private LRU decides. The
//! kernel keeps a page that is read twice while it is on the inactive list
//! (`Documentation/mm/multigen_lru.rst`, `mm/workingset.c`). A slow reader comes back too late.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_stats::rng::Rng;
use crosstalk_work::peer::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Advice, fadvise};

/// The bytes that are read at once.
pub const BLOCK: usize = 64 << 10;

/// The shortest and the longest pause after a block of a slow reader, in microseconds.
const PAUSE: (u64, u64) = (2_000, 8_000);

/// What every block of a file begins with: its own number.
pub fn stamp(block: u64) -> [u8; 8] {
    block.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()
}

/// A file that is read block by block.
pub struct BlockFile<'a> {
    path: &'a Path,
    file: File,
    blocks: u64,
    buffer: Vec<u8>,
}

impl<'a> BlockFile<'a> {
    /// Opens it. `size`: the bytes from its beginning that are read; all of them by default.
    ///
    /// # Errors
    /// If it cannot be opened, or is shorter.
    pub fn open(path: &'a Path, size: Option<u64>) -> Result<Self, Fault> {
        let failed =
            |e: io::Error| Fault::attempt(format!("cannot open: {e}")).at(path.display().to_string());
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let blocks = size.unwrap_or(length) / BLOCK as u64;
        if blocks == 0 || size.is_some_and(|size| size > length) {
            let expected = size.unwrap_or(BLOCK as u64);
            return Err(Fault::attempt(format!("expected at least {expected} bytes, found {length}"))
                .at(path.display().to_string()));
        }
        Ok(BlockFile { path, file, blocks, buffer: vec![0; BLOCK] })
    }

    /// Reads all blocks once.
    ///
    /// # Errors
    /// Those of [`BlockFile::read`].
    pub fn read_all(&mut self) -> Result<(), Fault> {
        (0..self.blocks).try_for_each(|index| self.read(index))
    }

    /// Reads the `index`-th block of the passes through the file, and checks it.
    ///
    /// # Errors
    /// If it cannot be read, or has other content than was written.
    pub fn read(&mut self, index: u64) -> Result<(), Fault> {
        let block = index % self.blocks;
        let read = self.file.read_exact_at(&mut self.buffer, block * BLOCK as u64);
        read.map_err(|e| {
            Fault::attempt(format!("cannot read block {block}: {e}")).at(self.path.display().to_string())
        })?;
        if self.buffer[..8] != stamp(block) {
            return Err(Fault::attempt(format!("block {block} has other content than was written"))
                .at(self.path.display().to_string()));
        }
        Ok(())
    }
}

/// So many blocks are written to the disk at once, 8 MiB: an interruption waits for no more.
const WRITTEN_AT_ONCE: u64 = 128;

/// Writes a file of `blocks` blocks, and drops it from the page cache. One that is not whole is removed.
///
/// # Errors
/// If it cannot be written, or not in time; an interruption.
pub fn write_blocks(path: &Path, blocks: u64, until: &Deadline) -> Result<(), Fault> {
    let failed = |e: io::Error| Fault::attempt(format!("cannot write: {e}")).at(path.display().to_string());
    let file = File::create(path).map_err(failed)?;
    let mut buffer = vec![7_u8; BLOCK];
    let mut write = || {
        for first in (0..blocks).step_by(WRITTEN_AT_ONCE as usize) {
            until.check("the users' files to be written")?;
            for block in first..blocks.min(first + WRITTEN_AT_ONCE) {
                buffer[..8].copy_from_slice(&stamp(block));
                file.write_all_at(&buffer, block * BLOCK as u64).map_err(failed)?;
            }
            file.sync_data().map_err(failed)?;
        }
        drop_cached(&file).map_err(failed)
    };
    write().inspect_err(|_| {
        // It goes with its folder anyway.
        let _ = fs::remove_file(path);
    })
}

/// Drops a file's clean pages from the page cache (posix_fadvise(2)): pages stay charged to the group that
/// read them first.
pub fn drop_cached(file: &File) -> io::Result<()> {
    fadvise(file, 0, None, Advice::DontNeed).map_err(io::Error::from)
}

/// A slow reader: `blocks` blocks from the `from`-th on, with a pause after each. Returns the time of the pauses, without
/// what waking up took.
///
/// # Errors
/// Those of [`BlockFile::read`].
pub fn reread(file: &mut BlockFile, from: u64, blocks: usize, random: &mut Rng) -> Result<Duration, Fault> {
    let (least, most) = PAUSE;
    let mut paused = Duration::ZERO;
    for index in from..from + blocks as u64 {
        file.read(index)?;
        let pause = Duration::from_micros(least + random.below((most - least) as usize) as u64);
        thread::sleep(pause);
        paused += pause;
    }
    Ok(paused)
}

/// Reads through the file until `stop` is readable or closed. Returns the number of blocks.
///
/// # Errors
/// Those of [`BlockFile::read`].
pub fn stream(file: &mut BlockFile, stop: &File) -> Result<u64, Fault> {
    let mut index = 0;
    while !is_readable(stop) {
        file.read(index)?;
        index += 1;
    }
    Ok(index)
}

fn is_readable(file: &File) -> bool {
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::units::Seconds;
    use std::sync::atomic::AtomicBool;

    fn write(path: &Path, blocks: u64) {
        let cancelled = AtomicBool::new(false);
        write_blocks(path, blocks, &Deadline::new(Seconds(60.0), &cancelled)).expect("writes");
    }

    #[test]
    fn what_was_written_is_read_again_and_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        write(&path, 3);
        let mut file = BlockFile::open(&path, None).expect("opens");
        (0..7).try_for_each(|index| file.read(index)).expect("reads in a circle");
        let mut random = Rng::seeded(1);
        let paused = reread(&mut file, 5, 2, &mut random).expect("reads");
        assert!(paused >= Duration::from_micros(2 * PAUSE.0), "{paused:?}");
    }

    #[test]
    fn other_content_and_short_files_are_faults() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        write(&path, 2);
        assert!(BlockFile::open(&path, Some(3 * BLOCK as u64)).is_err(), "is too short");
        let file = File::options().write(true).open(&path).expect("opens");
        file.write_all_at(&stamp(0), BLOCK as u64).expect("writes the first block's stamp");
        let mut read = BlockFile::open(&path, None).expect("opens");
        assert_eq!(read.read(0), Ok(()));
        assert!(read.read(1).expect_err("is wrong").message.contains("block 1"));
    }

    #[test]
    fn a_stream_ends_when_it_is_stopped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        write(&path, 2);
        let (stop, writer) = io::pipe().expect("a pipe");
        let stop = File::from(std::os::fd::OwnedFd::from(stop));
        let streamed = thread::spawn(move || {
            let mut file = BlockFile::open(&path, None).expect("opens");
            stream(&mut file, &stop)
        });
        drop(writer);
        assert!(streamed.join().expect("ends").is_ok());
    }
}
