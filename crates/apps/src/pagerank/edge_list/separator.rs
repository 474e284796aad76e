//! The separator of a line's columns.

/// What separates the columns of an edge list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// Blanks and tabs, as many as there are.
    Blanks,
    /// One of these, between blanks or not.
    Byte(u8),
}

/// Whether a heading has the same separator as the lines below it.
pub fn separates_alike(heading: &[u8], separator: Separator) -> bool {
    match separator {
        Separator::Byte(_) => true,
        Separator::Blanks => !heading.iter().any(|byte| matches!(byte, b',' | b';')),
    }
}

impl Separator {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Separator::Blanks => "blanks",
            Separator::Byte(b'\t') => "tabs",
            Separator::Byte(b';') => "`;`",
            Separator::Byte(_) => "`,`",
        }
    }
}

/// The separator of the numbers at a line's beginning.
pub fn detect_separator(line: &[u8]) -> Option<Separator> {
    let candidates = [Separator::Blanks, Separator::Byte(b','), Separator::Byte(b';')];
    candidates.into_iter().find(|separator| {
        let fields = split(line, *separator);
        fields.len() >= 2 && fields[..2].iter().all(|field| looks_like_number(field))
    })
}

/// A line's columns, without quotation marks.
pub fn split(line: &[u8], separator: Separator) -> Vec<&[u8]> {
    match separator {
        Separator::Blanks => {
            line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).map(unquoted).collect()
        }
        Separator::Byte(byte) => line.split(|b| *b == byte).map(<[u8]>::trim_ascii).map(unquoted).collect(),
    }
}

fn unquoted(field: &[u8]) -> &[u8] {
    match field {
        [b'"', inner @ .., b'"'] if !inner.contains(&b'"') => inner,
        _ => field,
    }
}

/// Whether a text looks like a number, whole and positive or not.
pub fn looks_like_number(field: &[u8]) -> bool {
    let begins = matches!(field.first(), Some(b'0'..=b'9' | b'-' | b'+' | b'.'));
    begins && str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok())
}
