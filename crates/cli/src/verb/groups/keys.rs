//! The keys of the live page.

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Choose the group above.
    Up,
    /// Choose the group below.
    Down,
    /// Switch protection on, or off.
    Protect,
    /// End the page.
    End,
}

/// The keys that a terminal has sent. Several may come at once; others do nothing.
pub fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let codes: [(&[u8], Key); 6] = [
        (b"\x1b[A", Key::Up),
        (b"\x1bOA", Key::Up),
        (b"\x1b[B", Key::Down),
        (b"\x1bOB", Key::Down),
        (b"p", Key::Protect),
        (b"q", Key::End),
    ];
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let known = codes.iter().find(|(code, _)| bytes.starts_with(code));
        found.extend(known.map(|(_, key)| *key));
        bytes = &bytes[known.map_or(1, |(code, _)| code.len())..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_may_come_at_once() {
        assert_eq!(keys(b"\x1b[Bp\x1bOAxq"), [Key::Down, Key::Protect, Key::Up, Key::End]);
        assert_eq!(keys(b"\x1b[5~"), []);
    }
}
