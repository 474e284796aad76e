#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| crosstalk_tenancy::boinc::fuzz_reply(text));
