#![no_main]

use crosstalk_study::{parse, to_toml};

// A study that is read and written is read again, and is the same.
libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(study) = parse(text, "study.toml") {
        assert_eq!(parse(&to_toml(&study), "again.toml").expect("it is read again"), study);
    }
});
