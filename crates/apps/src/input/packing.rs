//! What a file's first bytes show, and how compressed files are read.
//!
//! Sources: RFC 1952 (gzip), RFC 8878 (zstd), <https://tukaani.org/xz/xz-file-format.txt>, and the
//! `magic(5)` files of `file(1)`. A compressed file may have several members, streams or frames,
//! one after the other.

use bzip2::bufread::MultiBzDecoder;
use crosstalk_core::Fault;
use flate2::bufread::GzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::error::Error;
use std::fmt::{self, Display};
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// The number of first bytes that show what a file is: a tar archive has its mark at 257.
pub const HEAD: usize = 512;

/// Compressed bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// Memory that decompressing xz may take, in KiB: `xz -9` takes 64 MiB. (zstd's own limit is a window of 128
/// MiB.) More is refused: a file's header must not decide about memory.
const XZ_MEMORY: u32 = 1 << 20;

/// How a file is compressed, such as by gzip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not compressed.
    Plain,
    /// By gzip.
    Gzip,
    /// By bzip2.
    Bzip2,
    /// By xz.
    Xz,
    /// By zstd.
    Zstd,
}

impl Packing {
    /// How a file that begins with these bytes is compressed.
    pub fn detect(head: &[u8]) -> Self {
        match head {
            [0x1F, 0x8B, ..] => Packing::Gzip,
            // Then the first block's magic number, or that of an empty stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Packing::Bzip2,
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
            [0x28, 0xB5, 0x2F, 0xFD, ..] | [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => Packing::Zstd,
            _ => Packing::Plain,
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Packing::Plain => "plain",
            Packing::Gzip => "gzip",
            Packing::Bzip2 => "bzip2",
            Packing::Xz => "xz",
            Packing::Zstd => "zstd",
        }
    }

    /// A reader of the decompressed file.
    pub fn unpack(self, file: impl Read + Send + 'static) -> Box<dyn Read + Send> {
        let buffered = |file| BufReader::with_capacity(CHUNK, file);
        match self {
            Packing::Plain => Box::new(file),
            Packing::Gzip => Box::new(Members(Some(GzDecoder::new(buffered(file))))),
            Packing::Bzip2 => Box::new(MultiBzDecoder::new(buffered(file))),
            Packing::Xz => Box::new(Limited(XzReader::new_mem_limit(buffered(file), true, XZ_MEMORY))),
            Packing::Zstd => {
                Box::new(Frames { file: buffered(file), decoder: FrameDecoder::new(), within: false })
            }
        }
    }
}

/// What a file is that begins with these bytes and is known not to be UTF-8 text.
pub fn foreign_format(head: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a zip archive"),
        (b"PK\x05\x06", "an empty zip archive"),
        (b"7z\xBC\xAF\x27\x1C", "a 7z archive"),
        (b"Rar!\x1A\x07", "a rar archive"),
        (b"\x04\x22\x4D\x18", "an lz4 file"),
        (b"LZIP", "an lzip file"),
        (b"\x5D\0\0", "an lzma file"),
        (b"\x1F\x9D", "a file of compress(1)"),
        (b"\x89LZO\0", "an lzop file"),
        (b"\xFF\x06\0\0sNaPpY", "a snappy file"),
        (b"PAR1", "a Parquet file"),
        (b"Obj\x01", "an Avro file"),
        (b"\x89HDF\r\n\x1A\n", "an HDF5 file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
        (b"%PDF-", "a PDF document"),
        (b"\xFF\xFE", "text in UTF-16"),
        (b"\xFE\xFF", "text in UTF-16"),
        (b"\0\0\xFE\xFF", "text in UTF-32"),
    ];
    let tar = head.get(257..262) == Some(b"ustar");
    let known = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, name)| *name);
    known.or(tar.then_some("a tar archive")).or(match Packing::detect(head) {
        Packing::Plain => None,
        // Of a file that was decompressed: as a file's own first bytes these are no text.
        Packing::Gzip => Some("a gzip file"),
        Packing::Bzip2 => Some("a bzip2 file"),
        Packing::Xz => Some("an xz file"),
        Packing::Zstd => Some("a zstd file"),
    })
}

/// Why an undamaged file is not read, and what to do.
#[derive(Debug)]
pub struct Unsupported {
    why: String,
    remedy: &'static str,
}

impl Unsupported {
    fn error(why: String, remedy: &'static str) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, Unsupported { why, remedy })
    }

    /// The fault of a file in this format.
    pub fn fault(&self, packing: Packing) -> Fault {
        Fault::usage(format!("the {} file {self}", packing.name())).remedy(self.remedy)
    }
}

impl Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for Unsupported {}

/// The members of a gzip file, one after the other. Zeros after the last are padding, as to gzip(1).
struct Members<R>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = self.0.as_mut().filter(|_| !buffer.is_empty()) {
            match member.read(buffer)? {
                0 => self.0 = next(self.0.take().map(GzDecoder::into_inner))?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}

/// The member that follows, if there is one.
fn next<R: BufRead>(file: Option<R>) -> io::Result<Option<GzDecoder<R>>> {
    let Some(mut file) = file else { return Ok(None) };
    loop {
        let held = file.fill_buf()?;
        let zeros = held.iter().take_while(|byte| **byte == 0).count();
        match held.get(zeros) {
            None if held.is_empty() => return Ok(None),
            None => file.consume(zeros),
            Some(0x1F) if zeros == 0 => return Ok(Some(GzDecoder::new(file))),
            Some(_) => {
                return Err(Unsupported::error(
                    "has other bytes after its end".into(),
                    "if its text is whole, pack it again: gzip -dc FILE > TEXT (which warns of them), then gzip TEXT",
                ));
            }
        }
    }
}

/// An xz file with a limit on memory, whatever its header asks for.
struct Limited<R>(R);

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|e| match e.kind() {
            ErrorKind::OutOfMemory => Unsupported::error(
                format!("takes more than {} MiB of memory to read", XZ_MEMORY >> 10),
                "pack it again: xz -dc FILE | xz -9",
            ),
            _ => e,
        })
    }
}

/// Why zstd's decoder did not begin a frame.
fn refused(error: FrameDecoderError) -> io::Error {
    match error {
        FrameDecoderError::WindowSizeTooBig { requested, max } => Unsupported::error(
            format!("has a window of {} MiB; at most {} MiB are read", requested >> 20, max >> 20),
            "pack it again without --long or --ultra: zstd -dc --long=31 FILE | zstd",
        ),
        FrameDecoderError::DictNotProvided { .. } => Unsupported::error(
            "needs a dictionary".into(),
            "pack it again without one: zstd -dc -D DICTIONARY FILE | zstd",
        ),
        FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::BadMagicNumber(_)) => {
            Unsupported::error(
                "has other bytes after its end".into(),
                "copy or download it again, or pack its text again",
            )
        }
        e => io::Error::other(e),
    }
}

/// The frames of a zstd file, one after the other; those to be skipped are.
struct Frames<R> {
    file: R,
    decoder: FrameDecoder,
    /// Whether a frame has begun and was not read to its end.
    within: bool,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame; false after the last.
    fn next(&mut self) -> io::Result<bool> {
        while !self.file.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.file) {
                Ok(()) => {
                    self.within = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.file.by_ref().take(length), &mut io::sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(e) => return Err(refused(e)),
            }
        }
        Ok(false)
    }

    /// The decoder computes checksums but compares none.
    fn end(&mut self) -> io::Result<()> {
        self.within = false;
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(expected), Some(found)) if expected != found => {
                Err(io::Error::new(ErrorKind::InvalidData, "a frame's checksum differs"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !buffer.is_empty() && (self.within || self.next()?) {
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.file, one).map_err(io::Error::other)?;
            }
            match self.decoder.read(buffer)? {
                0 if self.decoder.is_finished() => self.end()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}
