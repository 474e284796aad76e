//! The fields of a line: numbers and names.

use crosstalk_core::{Fault, quoted};

/// The largest number that is a vertex id.
pub const LARGEST_ID: u64 = 1 << 63;

/// Up to 18 digits, which never overflow, and what follows them.
pub fn parse_digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (1..=18).contains(&length).then(|| (value, &text[length..]))
}

/// The whole number in a field; `None` where it is none.
pub fn parse_number(field: &[u8]) -> Option<u64> {
    let digits = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    str::from_utf8(field).ok().filter(|_| digits)?.parse().ok()
}

/// The vertex id in a field.
pub fn parse_vertex_id(field: &[u8]) -> Result<u64, Fault> {
    if let Some(id) = parse_number(field).filter(|id| *id <= LARGEST_ID) {
        return Ok(id);
    }
    if !field.is_empty() && field.iter().all(u8::is_ascii_digit) {
        return Err(Fault::usage(format!(
            "the vertex id {} is too large: expected at most {LARGEST_ID}",
            quoted(field)
        ))
        .remedy("number the vertices from 0"));
    }
    Err(Fault::usage(format!("expected a vertex id, found `{}`", quoted(field)))
        .remedy("write vertices as whole numbers from 0, as on the first lines; or as names on all lines"))
}

/// The vertex name in a field.
pub fn parse_vertex_name(field: &[u8]) -> Result<&str, Fault> {
    let why = match str::from_utf8(field) {
        Err(_) => "it is no UTF-8",
        Ok("") => "there is nothing",
        Ok(text) if text.contains(char::is_control) => "it has control characters",
        Ok(text) if text.starts_with('"') => "its quotation marks are not closed within the column",
        Ok(text) => return Ok(text),
    };
    Err(Fault::usage(format!("expected a vertex's name, found `{}`: {why}", quoted(field))))
}
