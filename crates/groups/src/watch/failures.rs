//! Starts in a row that could not be read.

/// So many in a row are an end: it is not a file here and there.
const MOST: u32 = 100;

/// How many there are since the last start that was read.
#[derive(Debug, Default)]
pub struct Failures(u32);

impl Failures {
    /// Counts one more. Returns whether that is an end.
    pub fn is_end(&mut self) -> bool {
        self.0 += 1;
        self.0 >= MOST
    }

    /// A start was read.
    pub fn clear(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_with_no_start_between_them_are_an_end() {
        let mut failures = Failures::default();
        for _ in 0..3 {
            assert!((1..MOST).all(|_| !failures.is_end()));
            failures.clear();
        }
        assert!((1..MOST).all(|_| !failures.is_end()) && failures.is_end());
    }
}
