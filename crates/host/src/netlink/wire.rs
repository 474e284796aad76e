//! The encoding of one rtnetlink request: header, fixed part, attributes
//! (type–length–value, aligned to four bytes), in native byte order.

/// Bytes of `struct nlmsghdr`.
pub(super) const HEADER: usize = 16;

/// A request under construction.
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A request of this kind; `fixed` is the structure that this kind begins with.
    pub(super) fn new(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&((flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
        bytes.extend_from_slice(fixed);
        let mut message = Message { bytes };
        message.align();
        message
    }

    /// Adds an attribute.
    #[must_use]
    pub(super) fn with(self, kind: u16, value: &[u8]) -> Self {
        self.nest(kind, |inner| inner.raw(value))
    }

    /// Adds a text attribute, which ends in a zero byte.
    #[must_use]
    pub(super) fn with_text(self, kind: u16, text: &str) -> Self {
        self.nest(kind, |inner| inner.raw(text.as_bytes()).raw(&[0]))
    }

    /// Adds an attribute whose value `fill` adds.
    #[must_use]
    pub(super) fn nest(mut self, kind: u16, fill: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self = fill(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
        self.align();
        self
    }

    /// Adds bytes as they are.
    #[must_use]
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// The finished request.
    pub(super) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A two-byte number at `at`, in native order.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A four-byte number at `at`, in native order.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The attributes in `bytes`: kind (flags masked) and value.
pub(super) fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while let (Some(length), Some(kind)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
        let Some(value) = bytes.get(4..length as usize) else { break };
        found.push((kind & 0x3fff, value));
        bytes = bytes.get((length as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_aligned_and_nests_measured() {
        let bytes = Message::new(16, 0, &[9; 4]).nest(18, |m| m.with_text(1, "ab").with(2, &[7])).finish(5);
        assert_eq!(u32_at(&bytes, 0), Some(bytes.len() as u32));
        assert_eq!(u32_at(&bytes, 8), Some(5));
        let outer = attributes(&bytes[HEADER + 4..]);
        assert_eq!(outer.len(), 1);
        assert_eq!(outer[0].0, 18);
        assert_eq!(attributes(outer[0].1), [(1, &b"ab\0"[..]), (2, &[7][..])]);
    }

    #[test]
    fn attributes_of_noise_end() {
        assert!(attributes(&[]).is_empty());
        assert!(attributes(&[0, 0, 0, 0, 1]).is_empty());
        assert!(attributes(&[200, 0, 1, 0, 1]).is_empty());
    }
}
