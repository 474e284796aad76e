#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| crosstalk_boinc::client::fuzz_reply(text));
