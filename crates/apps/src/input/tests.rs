use super::*;
use std::io::Write;
use std::process::{Command, Stdio};
use tempfile::NamedTempFile;

fn file(bytes: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("written");
    file
}

fn text(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    TextFile::open(file(bytes).path())?.read_whole()
}

fn refusal(bytes: &[u8]) -> String {
    text(bytes).expect_err("refused").message
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).expect("compressed");
    encoder.finish().expect("finished")
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(text).expect("compressed");
    encoder.finish().expect("finished")
}

fn xz(text: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::default();
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).expect("begins");
    encoder.write_all(text).expect("compressed");
    encoder.finish().expect("finished")
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

type Compress = fn(&[u8]) -> Vec<u8>;

/// Every way to compress.
const WAYS: [Compress; 4] = [gzip, bzip2, xz, zstd];

fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| format!("{i} {}\n", i * i).into_bytes()).collect()
}

#[test]
fn the_first_bytes_decide_how_a_file_is_read() {
    let whole = lines(20_000);
    assert_eq!(text(&whole), Ok(whole.clone()));
    for pack in WAYS {
        assert_eq!(text(&pack(&whole)), Ok(whole.clone()));
        assert_eq!(text(&pack(b"")), Ok(Vec::new()));
        // In several members, streams or frames, one of them empty.
        let (one, two) = whole.split_at(whole.len() / 3);
        assert_eq!(text(&[pack(one), pack(b""), pack(two)].concat()), Ok(whole.clone()));
    }
    let skipped = [b"\x50\x2A\x4D\x18\x03\0\0\0abc".to_vec(), zstd(&whole)].concat();
    assert_eq!(text(&skipped), Ok(whole));
    assert_eq!(text(b""), Ok(Vec::new()));
    assert_eq!(text(b"BZh is text"), Ok(b"BZh is text".to_vec()));
}

#[test]
fn the_tools_that_people_have_write_what_is_read() {
    let whole = lines(5_000);
    for (program, options) in [("gzip", "-9"), ("bzip2", "-1"), ("xz", "-1"), ("zstd", "-3")] {
        let child = Command::new(program)
            .args([options, "-c"])
            .stdin(file(&whole).reopen().expect("opens"))
            .stderr(Stdio::null())
            .output();
        match child {
            Ok(output) if output.status.success() => assert_eq!(text(&output.stdout), Ok(whole.clone())),
            _ => println!("skipped: {program} is not installed"),
        }
    }
}

#[test]
fn lines_end_in_lf_whatever_they_end_in_in_the_file() {
    let expected = b"1 2\n\n2 3\n3 1\n".to_vec();
    for end in ["\n", "\r\n", "\r"] {
        let whole = String::from_utf8(expected.clone()).expect("text").replace('\n', end).into_bytes();
        assert_eq!(text(&whole), Ok(expected.clone()), "{end:?}");
        assert_eq!(text(&gzip(&whole)), Ok(expected.clone()), "{end:?}");
        assert_eq!(text(&[MARK, &whole].concat()), Ok(expected.clone()));
        assert_eq!(text(&xz(&[MARK, &whole].concat())), Ok(expected.clone()));
    }
    assert_eq!(text(b"a\r\r\n\n\rb\r"), Ok(b"a\n\n\n\nb\n".to_vec()));
    assert_eq!(text(b"\n"), Ok(b"\n".to_vec()));
}

/// A reader of one byte at a time, or of so many.
struct Sips<'a>(&'a [u8], usize);

impl Read for Sips<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let sip = self.1.min(buffer.len());
        self.0.read(&mut buffer[..sip])
    }
}

#[test]
fn line_ends_are_found_wherever_reading_stops() {
    let (whole, expected) = (b"\r\na\r\n\r\r\nbc\n\rd\r", b"\na\n\n\nbc\n\nd\n");
    for sip in 1..=whole.len() {
        let mut found = Vec::new();
        let mut after_return = false;
        let mut from = Sips(whole, sip);
        let mut buffer = [0; 64];
        loop {
            let read = from.read(&mut buffer).expect("reads");
            if read == 0 {
                break;
            }
            let kept = line_feeds(&mut buffer[..read], &mut after_return);
            found.extend_from_slice(&buffer[..kept]);
        }
        assert_eq!(found, expected, "{sip} at a time");
    }
}

#[test]
fn a_buffer_is_filled_to_the_last_byte_until_the_text_ends() {
    let file = file(&gzip(b"0123\r\n6789"));
    let mut text = TextFile::open(file.path()).expect("opens");
    let mut buffer = b"x".to_vec();
    assert_eq!(text.append_to(&mut buffer, 4), Ok(4));
    assert_eq!(text.append_to(&mut buffer, 4), Ok(4));
    assert_eq!(buffer, b"x0123\n678");
    assert_eq!(text.append_to(&mut buffer, 4), Ok(1));
    assert_eq!(text.append_to(&mut buffer, 4), Ok(0));
    assert_eq!(buffer, b"x0123\n6789");
}

#[test]
fn what_is_cut_short_or_damaged_is_named_with_what_it_is() {
    let whole = lines(20_000);
    for (pack, name) in WAYS.iter().zip(["gzip", "bzip2", "xz", "zstd"]) {
        let packed = pack(&whole);
        let short = refusal(&packed[..packed.len() / 2]);
        assert_eq!(short, format!("the {name} file is cut short"));
        let short = refusal(&packed[..packed.len() - 2]);
        assert_eq!(short, format!("the {name} file is cut short"));
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 4].iter_mut().for_each(|byte| *byte ^= 0x55);
        let damaged = refusal(&damaged);
        assert!(damaged.starts_with(&format!("the {name} file is damaged (")), "{damaged}");
    }
}

/// The header of a zstd frame without a checksum and with a window of 256 MiB, and an empty last block.
const WIDE: &[u8] = b"\x28\xB5\x2F\xFD\x00\x90\x01\0\0";

#[test]
fn what_is_whole_and_not_read_all_the_same_is_named_with_what_to_do() {
    let refusal = |bytes: &[u8]| {
        let fault = text(bytes).expect_err("refused");
        (fault.message, fault.remedy.expect("a remedy"))
    };
    let (message, remedy) = refusal(WIDE);
    assert_eq!(message, "the zstd file has a window of 256 MiB; at most 128 MiB are read");
    assert!(remedy.contains("zstd -dc --long=31 FILE | zstd"), "{remedy}");
    for packed in [gzip(b"1 2\n"), zstd(b"1 2\n")] {
        let (message, _) = refusal(&[&packed[..], b"more"].concat());
        assert!(message.ends_with(" file has other bytes after its end"), "{message}");
    }
    assert!(refusal(&[&gzip(b"1 2\n")[..], b"\0\0more"].concat()).1.contains("gzip -dc FILE"));
}

#[test]
fn a_gzip_file_may_be_padded_with_zeros() {
    for zeros in [1, 512, 1 << 20] {
        assert_eq!(
            text(&[gzip(b"1 2\n"), gzip(b"3 4\n"), vec![0; zeros]].concat()),
            Ok(b"1 2\n3 4\n".to_vec())
        );
    }
}

#[test]
fn what_is_no_text_is_named() {
    let found = |bytes: &[u8]| refusal(bytes).replace("expected a text file, found ", "");
    assert_eq!(found(b"PK\x03\x04rest"), "a zip archive");
    assert_eq!(found(b"7z\xBC\xAF\x27\x1Crest"), "a 7z archive");
    assert_eq!(found(b"\xFF\xFE1\0"), "text in UTF-16");
    assert_eq!(found(&gzip(&gzip(b"1 2\n"))), "a gzip file in a gzip file");
    let mut tar = vec![0; HEAD];
    tar[257..262].copy_from_slice(b"ustar");
    assert_eq!(found(&bzip2(&tar)), "a tar archive in a bzip2 file");
    assert_eq!(found(&tar), "a tar archive");
}

#[test]
fn what_need_not_end_is_not_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pipe, file) = (folder.path().join("pipe"), folder.path().join("file"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("runs").success());
    fs::write(&file, "").expect("a file");
    for path in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
        let fault = TextFile::open(path).map(drop).expect_err("refused");
        assert!(fault.message.contains("no regular file"), "{fault}");
    }
    assert!(TextFile::open(&file).is_ok());
    let missing = TextFile::open(&folder.path().join("none")).map(drop).expect_err("refused");
    assert_eq!(missing.message, "no such file");
}
