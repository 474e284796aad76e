#![no_main]

use crosstalk_work::fuzzing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::http_request(bytes));
