#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crosstalk_boinc::project::fuzz_request(bytes));
