//! Tests of `keys`.

use super::*;
use proptest::prelude::*;
use std::sync::OnceLock;

/// One for all tests: making a pair takes a while.
fn pair() -> &'static KeyPair {
    static PAIR: OnceLock<KeyPair> = OnceLock::new();
    PAIR.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        KeyPair::open(&folder.path().join("key.pem")).expect("is made")
    })
}

#[test]
fn a_key_is_kept_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("key.pem");
    let made = KeyPair::open(&path).expect("is made");
    assert_eq!(KeyPair::open(&path).expect("is there").public(), made.public());
    assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
    fs::write(&path, "rubbish").expect("writes");
    let fault = KeyPair::open(&path).expect_err("refused");
    assert!(fault.place.is_some_and(|place| place.ends_with("key.pem")));
}

#[test]
fn a_public_key_is_written_as_the_client_reads_it() {
    let text = pair().public();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines.len(), lines[9]), ("1024", 10, "."));
    assert!(lines[1..9].iter().all(|line| line.len() == 64));
    // 65537, at the end of 128 bytes.
    assert!(lines[8].ends_with("00010001") && lines[5].chars().all(|c| c == '0'));
}

#[test]
fn a_signature_holds_for_its_text_and_no_other() {
    let signature = pair().sign(b"<name>x</name>").expect("signs");
    assert!(pair().has_signed(b"<name>x</name>", &signature));
    assert!(pair().has_signed(b"<name>x</name>", signature.trim()));
    assert!(!pair().has_signed(b"<name>y</name>", &signature));
    let first = signature.chars().next().expect("has one");
    let other = if first == '0' { "1" } else { "0" };
    assert!(!pair().has_signed(b"<name>x</name>", &signature.replacen(first, other, 1)));
}

#[test]
fn the_digits_of_the_md5_alone_are_signed() {
    // Raised to the public exponent, a signature is 00 01 FF … FF 00 and what was signed.
    let signature = bytes(&pair().sign(b"abc").expect("signs")).expect("is one");
    let number = rsa::BigUint::from_bytes_be(&signature).modpow(pair().0.e(), pair().0.n());
    let block = padded(&number.to_bytes_be());
    assert_eq!(&block[..3], [0, 1, 0xff]);
    assert!(block.ends_with(b"\xff\x00900150983cd24fb0d6963f7d28e17f72"));
}

proptest! {
    #[test]
    fn no_forged_signature_panics_or_holds(text in "[0-9a-f.\n x]{0,300}") {
        prop_assert!(!pair().has_signed(b"x", &text));
    }
}
