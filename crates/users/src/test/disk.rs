//! Files that are written, read and copied in blocks, one system call a block.
//!
//! AIM7 also runs `sync` before and after most of these, unless its option `-y` says not to; here nothing does. It
//! would write back what all programs of the machine have written, and so couple users who are to be apart.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use crosstalk_core::Fault;
use rustix::fs::OFlags;

use super::check::cannot;
use super::names::Name;
use crate::block::{BLOCK, Block};
use crate::common;
use crate::user::User;

pub fn disk_rd(user: &mut User) -> Result<(), Fault> {
    let mut written = Written::new(user, user.blocks(), Pace::Later)?;
    let mut file = written.open(OpenOptions::new().read(true))?;
    seek(&mut file, 0)?;
    for index in 0..written.blocks {
        written.content.read(&mut file, index)?;
    }
    written.name.remove()
}

pub fn disk_rr(user: &mut User) -> Result<(), Fault> {
    let mut written = Written::new(user, user.blocks(), Pace::Later)?;
    let mut file = written.open(OpenOptions::new().read(true))?;
    for _ in 0..written.blocks {
        let index = user.random.below(written.blocks);
        seek(&mut file, index)?;
        written.content.read(&mut file, index)?;
    }
    written.name.remove()
}

pub fn disk_rw(user: &mut User) -> Result<(), Fault> {
    overwrite(user, user.blocks(), Pace::Later)
}

pub fn sync_disk_rw(user: &mut User) -> Result<(), Fault> {
    overwrite(user, half(user), Pace::AtOnce)
}

/// Writes a file, then as many blocks at random places.
fn overwrite(user: &mut User, blocks: usize, pace: Pace) -> Result<(), Fault> {
    let mut written = Written::new(user, blocks, Pace::Later)?;
    // Also read, to check it.
    let mut file = written.open(OpenOptions::new().read(true).write(true).custom_flags(pace.flags()))?;
    // What is overwritten gets another stamp; the last block that was is checked.
    written.content.stamp = user.random.bits();
    let mut last = 0;
    for _ in 0..blocks {
        last = user.random.below(blocks);
        seek(&mut file, last)?;
        written.content.write(&mut file, last)?;
    }
    written.content.check(&file, last)?;
    written.name.remove()
}

pub fn disk_wrt(user: &mut User) -> Result<(), Fault> {
    Written::new(user, user.blocks(), Pace::Later)?.name.remove()
}

pub fn sync_disk_wrt(user: &mut User) -> Result<(), Fault> {
    Written::new(user, half(user), Pace::AtOnce)?.name.remove()
}

pub fn disk_cp(user: &mut User) -> Result<(), Fault> {
    copy(user, user.blocks(), Pace::Later)
}

pub fn sync_disk_cp(user: &mut User) -> Result<(), Fault> {
    copy(user, half(user), Pace::AtOnce)
}

/// Copies the beginning of the common file.
fn copy(user: &mut User, blocks: usize, pace: Pace) -> Result<(), Fault> {
    let mut from = File::open(user.common.data()).map_err(cannot("open the common file"))?;
    let name = Name(user.file("copy"));
    let mut to = pace.create(&name)?;
    let mut content = Content::new(common::STAMP);
    seek(&mut from, 0)?;
    for index in 0..blocks {
        let read = *content.read(&mut from, index)?;
        to.write_all(&read).map_err(cannot("write a block"))?;
    }
    content.check(&to, user.random.below(blocks))?;
    name.remove()
}

pub fn sync_disk_update(user: &mut User) -> Result<(), Fault> {
    let blocks = user.blocks();
    let mut written = Written::new(user, blocks, Pace::Later)?;
    let flags = Pace::AtOnce.flags();
    let mut file = written.open(OpenOptions::new().read(true).write(true).custom_flags(flags))?;
    for _ in 0..half(user) {
        // As long as there is another block behind it.
        let index = user.random.below(blocks.saturating_sub(1).max(1));
        seek(&mut file, index)?;
        written.content.read(&mut file, index)?;
        written.content.write(&mut file, index + 1)?;
    }
    written.content.check(&file, user.random.below(blocks))?;
    written.name.remove()
}

/// Half of the blocks, for tests that wait for the disk.
fn half(user: &User) -> usize {
    (user.blocks() / 2).max(1)
}

/// When blocks that are written reach the disk.
#[derive(Clone, Copy)]
enum Pace {
    /// When the kernel writes them back.
    Later,
    /// Before the write returns (`O_SYNC`).
    AtOnce,
}

impl Pace {
    fn flags(self) -> i32 {
        match self {
            Pace::Later => 0,
            Pace::AtOnce => OFlags::SYNC.bits().cast_signed(),
        }
    }

    /// A new empty file; it can be read, too, to check it.
    fn create(self, name: &Name) -> Result<File, Fault> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).custom_flags(self.flags());
        options.open(&name.0).map_err(cannot("make a file"))
    }
}

/// A file of stamped blocks, which was written and closed.
struct Written {
    name: Name,
    blocks: usize,
    content: Content,
}

impl Written {
    fn new(user: &mut User, blocks: usize, pace: Pace) -> Result<Self, Fault> {
        let name = Name(user.file("disk"));
        let mut content = Content::new(user.random.bits());
        let mut file = pace.create(&name)?;
        (0..blocks).try_for_each(|index| content.write(&mut file, index))?;
        content.check(&file, user.random.below(blocks))?;
        Ok(Written { name, blocks, content })
    }

    fn open(&self, options: &OpenOptions) -> Result<File, Fault> {
        options.open(&self.name.0).map_err(cannot("open a file"))
    }
}

/// What the blocks of a file hold.
struct Content {
    stamp: u64,
    expected: Block,
    read: [u8; BLOCK],
}

impl Content {
    fn new(stamp: u64) -> Self {
        Content { stamp, expected: Block::new(), read: [0; BLOCK] }
    }

    /// Writes a block where the file stands.
    fn write(&mut self, file: &mut File, index: usize) -> Result<(), Fault> {
        file.write_all(self.expected.stamped(self.stamp, index)).map_err(cannot("write a block"))
    }

    /// Reads a block where the file stands, which must be that of `index`.
    fn read(&mut self, file: &mut File, index: usize) -> Result<&[u8; BLOCK], Fault> {
        file.read_exact(&mut self.read).map_err(|e| unread(index, e))?;
        self.expected.expect(self.stamp, index, &self.read)?;
        Ok(&self.read)
    }

    /// Checks one block that was written.
    fn check(&mut self, file: &File, index: usize) -> Result<(), Fault> {
        file.read_exact_at(&mut self.read, (index * BLOCK) as u64).map_err(|e| unread(index, e))?;
        self.expected.expect(self.stamp, index, &self.read)
    }
}

fn unread(index: usize, error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Fault::attempt(format!("the file ends before its block {index}"));
    }
    cannot("read a block")(error)
}

fn seek(file: &mut File, index: usize) -> Result<(), Fault> {
    file.seek(SeekFrom::Start((index * BLOCK) as u64)).map(|_| ()).map_err(cannot("seek in a file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A file of four blocks that someone else then changes.
    fn spoilt(spoil: impl Fn(&mut Vec<u8>)) -> Result<(), Fault> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let mut content = Content::new(9);
        let mut file = File::create(&path).expect("makes");
        (0..4).try_for_each(|index| content.write(&mut file, index)).expect("writes");
        let mut bytes = fs::read(&path).expect("reads");
        spoil(&mut bytes);
        fs::write(&path, bytes).expect("writes");
        let mut file = File::open(&path).expect("opens");
        (0..4).try_for_each(|index| content.read(&mut file, index).map(|_| ()))
    }

    #[test]
    fn a_reader_notices_what_others_change() {
        assert!(spoilt(|_| ()).is_ok());
        let changed = spoilt(|bytes| bytes[2 * BLOCK + 500] ^= 1).expect_err("a byte differs");
        assert!(changed.message.contains("block 2"), "{changed}");
        let cut = spoilt(|bytes| bytes.truncate(3 * BLOCK + 10)).expect_err("it is shorter");
        assert!(cut.message.contains("ends before its block 3"), "{cut}");
        assert!(spoilt(|bytes| bytes.rotate_left(BLOCK)).is_err(), "blocks change places");
    }
}
