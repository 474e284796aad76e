//! Integer work in a core's own cache: a list is sorted, a matrix multiplied, a text scanned, and the results put into a
//! CRC-16 (polynomial 0x8005, reflected: "CRC-16/ARC").

/// Elements of the list.
const ELEMENTS: usize = 256;
/// Rows and columns of the matrix.
const SIDE: usize = 24;
/// Bytes of the text.
const TEXT: usize = 512;
/// No element follows.
const END: u16 = u16::MAX;
/// Rounds of a pass: about 2 ms.
const ROUNDS: u32 = 200;

/// The kernel's data.
pub struct Integer {
    /// Element → value, and the next element.
    values: [u16; ELEMENTS],
    next: [u16; ELEMENTS],
    matrix: [i32; SIDE * SIDE],
    text: [u8; TEXT],
}

impl Integer {
    /// The same data each time, but not known when this is compiled.
    pub fn new() -> Self {
        let mut state = std::hint::black_box(1_u32);
        let mut number = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 16
        };
        Integer {
            values: std::array::from_fn(|_| number() as u16),
            next: std::array::from_fn(|index| if index + 1 < ELEMENTS { index as u16 + 1 } else { END }),
            matrix: std::array::from_fn(|_| number() as i32 % 100 - 50),
            text: std::array::from_fn(|_| b"0123456789+-.eE,,, x"[number() as usize % 20]),
        }
    }

    /// Does all once; returns a checksum, which is the same each time.
    pub fn pass(&mut self) -> u64 {
        let mut crc = 0;
        for round in 0..ROUNDS {
            let round = std::hint::black_box(round as u16);
            let head = self.sort_by(|value| value.rotate_left(u32::from(round % 16)));
            crc = crc16(crc, u32::from(self.values[head as usize]) | self.length(head) << 16);
            crc = crc16(crc, self.multiply(i32::from(round)));
            crc = self.scan(round as u8).into_iter().fold(crc, crc16);
        }
        u64::from(crc)
    }

    /// Merge sort of the list, bottom up; returns its first element.
    fn sort_by(&mut self, key: impl Fn(u16) -> u16) -> u16 {
        let mut runs: [u16; ELEMENTS] = std::array::from_fn(|index| index as u16);
        self.next = [END; ELEMENTS];
        let mut count = ELEMENTS;
        while count > 1 {
            for pair in 0..count / 2 {
                runs[pair] = self.merge(runs[2 * pair], runs[2 * pair + 1], &key);
            }
            count /= 2;
        }
        runs[0]
    }

    fn merge(&mut self, mut a: u16, mut b: u16, key: &impl Fn(u16) -> u16) -> u16 {
        let (mut first, mut last) = (END, END);
        while a != END || b != END {
            let takes_a =
                b == END || a != END && key(self.values[a as usize]) <= key(self.values[b as usize]);
            let taken = if takes_a { a } else { b };
            let rest = self.next[taken as usize];
            if takes_a {
                a = rest
            } else {
                b = rest
            }
            match last {
                END => first = taken,
                last => self.next[last as usize] = taken,
            }
            last = taken;
        }
        first
    }

    fn length(&self, head: u16) -> u32 {
        let mut count = 0;
        let mut at = head;
        while at != END {
            (count, at) = (count + 1, self.next[at as usize]);
        }
        count
    }

    /// The sum over bits 2 to 8 of the elements of a product.
    fn multiply(&self, added: i32) -> u32 {
        let mut sum = 0_u32;
        for row in 0..SIDE {
            for column in 0..SIDE {
                let product = (0..SIDE).fold(added, |sum, k| {
                    sum.wrapping_add(
                        self.matrix[row * SIDE + k].wrapping_mul(self.matrix[k * SIDE + column] + added),
                    )
                });
                sum = sum.wrapping_add((product as u32 >> 2) & 0x7f);
            }
        }
        sum
    }

    /// How often the text is in each state: between numbers, in an integer, a fraction, an exponent, in what is none.
    fn scan(&self, flipped: u8) -> [u32; 5] {
        let mut counts = [0; 5];
        let mut state = 0;
        for byte in self.text {
            state = match (state, byte ^ (flipped & 1)) {
                (_, b',' | b' ') => 0,
                (0, b'+' | b'-') | (0 | 1, b'0'..=b'9') => 1,
                (0 | 1, b'.') | (2, b'0'..=b'9') => 2,
                (1 | 2, b'e' | b'E') | (3, b'+' | b'-' | b'0'..=b'9') => 3,
                _ => 4,
            };
            counts[state] += 1;
        }
        counts
    }
}

/// Adds the four bytes of a number.
fn crc16(crc: u16, number: u32) -> u16 {
    number.to_le_bytes().into_iter().fold(crc, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xA001 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_known_one() {
        // The published check value of CRC-16/ARC: of "123456789".
        let of = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
        let eight = crc16(crc16(0, of(*b"1234")), of(*b"5678"));
        let nine = (0..8)
            .fold(eight ^ u16::from(b'9'), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xA001 } else { crc >> 1 });
        assert_eq!(nine, 0xBB3D);
    }

    #[test]
    fn a_sorted_list_is_in_order_and_whole() {
        let mut kernel = Integer::new();
        let mut at = kernel.sort_by(|value| value);
        assert_eq!(kernel.length(at), ELEMENTS as u32);
        let mut sorted = Vec::new();
        while at != END {
            sorted.push(kernel.values[at as usize]);
            at = kernel.next[at as usize];
        }
        let mut expected = kernel.values.to_vec();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_text_is_in_one_state_at_each_byte() {
        let mut kernel = Integer::new();
        kernel.text = [b','; TEXT];
        kernel.text[..14].copy_from_slice(b"12,-3.5e4,x,.7");
        assert_eq!(kernel.scan(0), [TEXT as u32 - 14 + 3, 4, 4, 2, 1]);
    }

    #[test]
    fn a_product_is_that_of_the_definition() {
        let mut kernel = Integer::new();
        // The unit matrix times four: 24 products of 16, whose bits 2 to 8 are 4.
        kernel.matrix = [0; SIDE * SIDE];
        (0..SIDE).for_each(|i| kernel.matrix[i * SIDE + i] = 4);
        assert_eq!(kernel.multiply(0), 24 * 4);
    }

    #[test]
    fn each_pass_computes_the_same() {
        let mut kernel = Integer::new();
        assert_eq!(kernel.pass(), kernel.pass());
    }
}
