//! Text: numbers to text and back, kinds of characters, joining, comparing and searching, as the C library's
//! functions for strings that end in a zero byte.

use std::fs;
use std::hint::black_box;
use std::io::Write;

use crosstalk_core::Fault;

use super::check::expect;
use crate::user::User;

/// Bytes of the buffer that texts are built in.
const BUFFER: usize = 1024;

/// Letters, digits, spaces and punctuation.
const SIGNS: &[u8] = b" \t\n\r\x080123456789 abcde fghij klmno pqrst uvwxy z ABCDE FGHIJ KLMNO PQRST UVWXY Z .,;:!@#$%^&*()_-+=|\\\"'`[]}{";

/// What is appended again and again.
const PHRASE: &[u8] = b"How are you today?";

/// Bytes of it that a shorter append takes.
const SHORT: usize = 10;

pub fn string_rtns(user: &mut User) -> Result<(), Fault> {
    let rounds = user.scaled(100);
    let mut wrong = 0;
    let mut number = 0_i64;
    let mut buffer = [0_u8; BUFFER];
    for _ in 0..rounds {
        let written = convert(number)?;
        wrong += usize::from(written != number);
        let kinds = classify(&mut buffer);
        // Signs are the same in all rounds; what stands behind them is not.
        wrong += usize::from(kinds < CLASSES * 10);
        number = number.wrapping_add(kinds as i64);
        // From the phrase once until it no longer fits: as often as its length goes into the buffer.
        wrong += usize::from(append(&mut buffer, PHRASE.len()) != (BUFFER - 1) / PHRASE.len() - 1);
        wrong += usize::from(append(&mut buffer, SHORT) != (BUFFER - 2 * PHRASE.len() - 1) / SHORT + 1);
        wrong += usize::from(!search(&mut buffer));
    }
    expect("wrong texts", wrong, 0)
}

/// Writes a number as text and reads it again: as a fraction twice, as an integer three times.
fn convert(number: i64) -> Result<i64, Fault> {
    let mut text = [0_u8; 64];
    let fraction = number as f64 / 1000.0;
    let written = write(&mut text, format_args!("{fraction}"))?;
    let read =
        |text: &str| text.parse::<f64>().map_err(|e| Fault::attempt(format!("cannot read a number: {e}")));
    let (once, twice) = (read(black_box(written))?, read(black_box(written))?);
    let thousandfold = (1000.0 * once).round() as i64;
    if once != twice {
        return Err(Fault::attempt(format!("the same text was read as {once} and as {twice}")));
    }
    let written = write(&mut text, format_args!("{thousandfold}"))?;
    let read =
        |text: &str| text.parse::<i64>().map_err(|e| Fault::attempt(format!("cannot read a number: {e}")));
    let all = [read(black_box(written))?, read(black_box(written))?, read(black_box(written))?];
    Ok(if all[0] == all[1] && all[1] == all[2] { all[0] } else { i64::MIN })
}

/// Writes to the beginning of a buffer.
fn write<'b>(buffer: &'b mut [u8], text: std::fmt::Arguments<'_>) -> Result<&'b str, Fault> {
    let all = buffer.len();
    let mut rest = &mut buffer[..];
    let fits = rest.write_fmt(text);
    let left = rest.len();
    let written = std::str::from_utf8(&buffer[..all - left]).ok().filter(|_| fits.is_ok());
    written.ok_or_else(|| Fault::attempt(format!("a number takes more than {all} bytes")))
}

/// Classes of characters (isalnum(3)), as bits.
const CLASSES: usize = 11;
const LOWER: u16 = 1 << 5;
const UPPER: u16 = 1 << 9;

/// The classes of every byte.
static CLASS: [u16; 256] = classes();

const fn classes() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let c = byte as u8;
        let is = [
            c.is_ascii_alphanumeric(),
            c.is_ascii_alphabetic(),
            c.is_ascii_control(),
            c.is_ascii_digit(),
            c.is_ascii_graphic(),
            c.is_ascii_lowercase(),
            c.is_ascii_graphic() || c == b' ',
            c.is_ascii_punctuation(),
            c.is_ascii_whitespace() || c == 0x0b,
            c.is_ascii_uppercase(),
            c.is_ascii_hexdigit(),
        ];
        let mut class = 0;
        while class < CLASSES {
            if is[class] {
                table[byte] |= 1 << class;
            }
            class += 1;
        }
        byte += 1;
    }
    table
}

/// Puts the signs into the buffer, and counts of how many classes its bytes are. Letters change their case twice.
fn classify(buffer: &mut [u8; BUFFER]) -> usize {
    buffer[..SIGNS.len()].copy_from_slice(black_box(SIGNS));
    buffer[SIGNS.len()] = 0;
    let mut count = 0;
    for byte in &mut buffer[..BUFFER - 1] {
        let classes = black_box(CLASS[usize::from(*byte)]);
        if classes & LOWER != 0 {
            *byte = black_box(byte.to_ascii_uppercase()).to_ascii_lowercase();
        }
        count += (0..CLASSES).map(|class| usize::from(classes >> class & 1)).sum::<usize>();
        if CLASS[usize::from(*byte)] & UPPER != 0 {
            *byte = black_box(byte.to_ascii_lowercase()).to_ascii_uppercase();
        }
    }
    count
}

/// Puts the phrase into the buffer, then appends its first bytes until the whole phrase would no longer fit. Finds
/// the end anew each time. Returns how often it appended.
fn append(buffer: &mut [u8; BUFFER], bytes: usize) -> usize {
    copy(buffer, 0, PHRASE);
    let mut times = 0;
    while BUFFER - length(buffer) > length(black_box(&PHRASE_AND_ZERO)) {
        let end = length(buffer);
        copy(buffer, end, &PHRASE[..bytes]);
        let same = buffer[..bytes] == PHRASE[..bytes];
        times += usize::from(black_box(same));
    }
    times
}

/// The phrase as it stands in C.
static PHRASE_AND_ZERO: [u8; PHRASE.len() + 1] = {
    let mut text = [0; PHRASE.len() + 1];
    let mut at = 0;
    while at < PHRASE.len() {
        text[at] = PHRASE[at];
        at += 1;
    }
    text
};

/// The length of a text up to its zero byte.
fn length(text: &[u8]) -> usize {
    memchr::memchr(0, black_box(text)).unwrap_or(text.len())
}

/// Copies a text into the buffer, with a zero byte behind it.
fn copy(buffer: &mut [u8], at: usize, text: &[u8]) {
    buffer[at..at + text.len()].copy_from_slice(text);
    buffer[at + text.len()] = 0;
}

/// Searches a date for characters and for itself. Returns whether everything was where it is.
fn search(buffer: &mut [u8; BUFFER]) -> bool {
    // A date in local time takes a look at the time zone (ctime(3)); a system need not have one.
    let _ = fs::metadata("/etc/localtime");
    copy(buffer, 0, b"Mon Jan 22 00:00:00 1996\n");
    let text = black_box(&buffer[..length(buffer)]);
    let outside = text.iter().position(|byte| b"jfamsdx".contains(byte));
    let first = text.iter().position(|byte| b" ;\n".contains(byte));
    let last = memchr::memrchr(b'\n', text);
    let inside = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let itself = memchr::memmem::find(text, black_box(text));
    (outside, first, last, inside, itself) == (Some(5), Some(3), Some(24), 3, Some(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_text() {
        for number in [0, 7, -12, 1_234_567_890] {
            assert_eq!(convert(number).expect("converts"), number);
        }
    }

    #[test]
    fn characters_have_the_classes_of_the_c_library() {
        let classes = |byte: u8| CLASS[usize::from(byte)].count_ones();
        // alnum alpha graph lower print xdigit; alnum alpha graph print upper; cntrl space; none.
        assert_eq!([b'a', b'Z', b'\n', 200].map(classes), [6, 5, 2, 0]);
        assert_eq!(classes(b'7'), 5);
        assert_eq!(classes(b' '), 2);
    }

    #[test]
    fn an_append_ends_where_the_phrase_no_longer_fits() {
        let mut buffer = [0; BUFFER];
        let times = append(&mut buffer, PHRASE.len());
        assert_eq!(length(&buffer), PHRASE.len() * (times + 1));
        assert!(BUFFER - length(&buffer) <= PHRASE.len());
    }
}
