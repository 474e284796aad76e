#![no_main]

use crosstalk_study::journal::{lines, read_journal};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read_journal(lines(bytes));
});
