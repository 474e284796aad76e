#![no_main]

use crosstalk_apps::fuzzing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crosstalk_fuzz::with(bytes, fuzzing::ratings));
