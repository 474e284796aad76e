//! How a file's bytes are spread over I/O servers: in stripes, round robin, from a server on that the file's number
//! gives. What a server holds of a file is one run of bytes, its *piece*: a consecutive range of the file is a
//! consecutive range of each piece. That is PVFS2's distribution `simple_stripe`.

use std::ops::Range;

/// Where a file's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The file's number.
    pub file: u64,
    /// Bytes of a stripe, at least 1.
    pub stripe: u64,
    /// I/O servers, at least 1.
    pub servers: u64,
}

/// What one server has of a range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The server.
    pub server: usize,
    /// Where it begins in the server's piece.
    pub at: u64,
    /// The stripes, or parts of stripes, of which it consists: ranges within the range of the file.
    pub parts: Vec<Range<usize>>,
}

impl Share {
    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Range::len).sum()
    }
}

impl Layout {
    /// The server of the byte at `offset`, and where that is in the server's piece.
    pub fn place(&self, offset: u64) -> (usize, u64) {
        let index = offset / self.stripe;
        let server = (self.first() + index) % self.servers;
        (server as usize, index / self.servers * self.stripe + offset % self.stripe)
    }

    /// The offset in the file of the byte at `at` in a server's piece.
    pub fn offset(&self, server: usize, at: u64) -> u64 {
        let position = (server as u64 + self.servers - self.first()) % self.servers;
        (at / self.stripe * self.servers + position) * self.stripe + at % self.stripe
    }

    /// The file's size, of which each server holds so many bytes.
    pub fn size(&self, held: impl IntoIterator<Item = u64>) -> u64 {
        let ends = held.into_iter().enumerate().filter(|(_, held)| *held > 0);
        ends.map(|(server, held)| self.offset(server, held - 1) + 1).max().unwrap_or(0)
    }

    /// What each server has of `bytes` from `offset` on, in the order of first use.
    pub fn shares(&self, offset: u64, bytes: usize) -> Vec<Share> {
        let mut shares: Vec<Share> = Vec::new();
        let mut done = 0;
        while done < bytes {
            let (server, at) = self.place(offset + done as u64);
            let part = ((self.stripe - at % self.stripe) as usize).min(bytes - done);
            let range = done..done + part;
            match shares.iter_mut().find(|share| share.server == server) {
                Some(share) => share.parts.push(range),
                None => shares.push(Share { server, at, parts: vec![range] }),
            }
            done += part;
        }
        shares
    }

    /// The server of the file's first stripe.
    fn first(&self) -> u64 {
        self.file % self.servers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> impl Strategy<Value = Layout> {
        (any::<u64>(), 1_u64..70, 1_u64..9).prop_map(|(file, stripe, servers)| Layout {
            file,
            stripe,
            servers,
        })
    }

    #[test]
    fn stripes_go_round_from_the_files_first_server() {
        let layout = Layout { file: 5, stripe: 10, servers: 3 };
        assert_eq!(
            [0, 9, 10, 29, 30, 65].map(|offset| layout.place(offset)),
            [(2, 0), (2, 9), (0, 0), (1, 9), (2, 10), (2, 25)]
        );
        assert_eq!(layout.size([0, 0, 0]), 0);
        assert_eq!(layout.size([3, 0, 10]), 13);
    }

    proptest! {
        #[test]
        fn striping_is_a_bijection(layout in layout(), offset in 0_u64..1 << 40, server in 0_usize..9, at in 0_u64..1 << 40) {
            let (there, place) = layout.place(offset);
            prop_assert!((there as u64) < layout.servers);
            prop_assert_eq!(layout.offset(there, place), offset);
            let server = server % layout.servers as usize;
            prop_assert_eq!(layout.place(layout.offset(server, at)), (server, at));
        }

        #[test]
        fn shares_have_every_byte_once_and_are_consecutive_on_their_server(
            layout in layout(), offset in 0_u64..10_000, bytes in 0_usize..2_000,
        ) {
            let mut seen = vec![false; bytes];
            for share in layout.shares(offset, bytes) {
                for (index, byte) in share.parts.iter().flat_map(|part| part.clone()).enumerate() {
                    prop_assert_eq!(layout.place(offset + byte as u64), (share.server, share.at + index as u64));
                    prop_assert!(!std::mem::replace(&mut seen[byte], true));
                }
            }
            prop_assert!(seen.into_iter().all(|seen| seen));
        }

        #[test]
        fn the_size_is_the_end_of_what_was_written(layout in layout(), end in 1_u64..3_000) {
            let mut held = vec![0; layout.servers as usize];
            for offset in 0..end {
                let (server, at) = layout.place(offset);
                held[server] = held[server].max(at + 1);
            }
            prop_assert_eq!(layout.size(held), end);
        }
    }
}
