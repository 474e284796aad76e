//! Members of a zip archive (PKWARE's APPNOTE 6.3, sections 4.3 and 4.4): stored or deflated, without encryption
//! and without the 64-bit extensions, as data sets are packed.

use std::io::Read;

use crosstalk_core::Fault;
use flate2::read::DeflateDecoder;

/// Begins the record at an archive's end.
const END: u32 = 0x0605_4b50;
/// Begins an entry of the directory.
const ENTRY: u32 = 0x0201_4b50;
/// Begins a member.
const LOCAL: u32 = 0x0403_4b50;
/// Bytes of the record at the end, without its comment.
const END_BYTES: usize = 22;
/// The longest comment at the end, in bytes.
const LONGEST_COMMENT: usize = u16::MAX as usize;

/// The bytes of the member of that name.
///
/// # Errors
/// An environment fault where the archive has none, or is not one that is read here.
pub fn read_member(archive: &[u8], name: &str) -> Result<Vec<u8>, Fault> {
    let broken = || Fault::environment(format!("cannot read the zip archive's member `{name}`"));
    let entry = entry(archive, name).ok_or_else(broken)?;
    let packed = entry.packed(archive).ok_or_else(broken)?;
    match entry.method {
        0 => Ok(packed.to_vec()),
        8 => {
            let mut bytes = Vec::new();
            // One byte more than there should be shows that there are more.
            DeflateDecoder::new(packed)
                .take(entry.size as u64 + 1)
                .read_to_end(&mut bytes)
                .map_err(|_| broken())?;
            if bytes.len() == entry.size { Ok(bytes) } else { Err(broken()) }
        }
        _ => Err(broken()),
    }
}

/// What the directory says of a member.
struct Entry {
    /// 0: stored; 8: deflated.
    method: u16,
    packed: usize,
    size: usize,
    /// Where the member begins.
    at: usize,
}

impl Entry {
    fn packed<'a>(&self, archive: &'a [u8]) -> Option<&'a [u8]> {
        if long(archive, self.at)? != LOCAL {
            return None;
        }
        let head = 30 + short(archive, self.at + 26)? as usize + short(archive, self.at + 28)? as usize;
        archive.get(self.at.checked_add(head)?..)?.get(..self.packed)
    }
}

fn entry(archive: &[u8], name: &str) -> Option<Entry> {
    let first = archive.len().saturating_sub(END_BYTES + LONGEST_COMMENT);
    let last = archive.len().checked_sub(END_BYTES)?;
    let end = (first..=last).rev().find(|at| long(archive, *at) == Some(END))?;
    let mut at = long(archive, end + 16)? as usize;
    for _ in 0..short(archive, end + 10)? {
        if long(archive, at)? != ENTRY {
            return None;
        }
        let lengths = [28, 30, 32].map(|offset| short(archive, at + offset).map(usize::from));
        let [name_length, extra, comment] = [lengths[0]?, lengths[1]?, lengths[2]?];
        let head = at + 46;
        if archive.get(head..head + name_length)? == name.as_bytes() {
            let number = |offset: usize| long(archive, at + offset).map(|number| number as usize);
            let (packed, size, at) = (number(20)?, number(24)?, number(42)?);
            return Some(Entry { method: short(archive, head - 36)?, packed, size, at });
        }
        at = head + name_length + extra + comment;
    }
    None
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..)?.get(..2)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

/// An archive of these members, each deflated unless it is empty.
#[cfg(test)]
pub fn make_archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    use flate2::Compression;
    use flate2::read::DeflateEncoder;
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut packed = Vec::new();
        let method: u16 = if bytes.is_empty() { 0 } else { 8 };
        if method == 8 {
            DeflateEncoder::new(*bytes, Compression::best()).read_to_end(&mut packed).expect("packs");
        }
        let at = archive.len() as u32;
        let mut about = method.to_le_bytes().to_vec();
        // Time, date and CRC are not read.
        about.extend([0; 8]);
        about.extend((packed.len() as u32).to_le_bytes());
        about.extend((bytes.len() as u32).to_le_bytes());
        about.extend((name.len() as u16).to_le_bytes());
        about.extend([0; 2]);
        archive.extend([&LOCAL.to_le_bytes()[..], &[20, 0, 0, 0], &about, name.as_bytes(), &packed].concat());
        let rest = [&[0; 10][..], &at.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([&ENTRY.to_le_bytes()[..], &[20, 0, 20, 0, 0, 0], &about, &rest].concat());
    }
    let (at, count) = (archive.len() as u32, (members.len() as u16).to_le_bytes());
    archive.extend(&directory);
    archive.extend([&END.to_le_bytes()[..], &[0; 4], &count, &count].concat());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn members_are_found_by_name() {
        let long = b"the same again and again ".repeat(50);
        let archive = make_archive(&[("d/a", &long), ("d/empty", b""), ("d/b", b"b")]);
        assert_eq!(read_member(&archive, "d/a"), Ok(long));
        assert_eq!(read_member(&archive, "d/empty"), Ok(Vec::new()));
        assert_eq!(read_member(&archive, "d/b").as_deref(), Ok(&b"b"[..]));
        let fault = read_member(&archive, "d/c").expect_err("is not there");
        assert!(fault.message.contains("`d/c`"), "{fault}");
    }

    #[test]
    fn an_archive_of_the_system_s_zip_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let code = "import zipfile\nwith zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n \
            z.writestr('d/x.csv', '1,2\\n' * 1000)\n z.comment = b'made here'\n";
        let made = std::process::Command::new("python3").args(["-c", code]).current_dir(dir.path()).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no python3 that makes a zip archive");
            return;
        }
        let archive = std::fs::read(dir.path().join("a.zip")).expect("reads");
        assert_eq!(read_member(&archive, "d/x.csv"), Ok(b"1,2\n".repeat(1000)));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            at in 0_usize..400, with in any::<u8>(), cut in 0_usize..400, noise in proptest::collection::vec(any::<u8>(), 0..200)
        ) {
            let _ = read_member(&noise, "a");
            let mut bytes = make_archive(&[("a", b"some text of a member"), ("b", b"")]);
            let (at, cut) = (at % bytes.len(), cut % bytes.len());
            bytes[at] = with;
            let _ = read_member(&bytes, "a");
            let _ = read_member(&bytes[..cut], "b");
        }
    }
}
