//! Tests of `upload`.

use super::*;
use crate::project::damage::damaged;
use proptest::prelude::*;
use std::sync::OnceLock;

fn key() -> &'static KeyPair {
    static KEY: OnceLock<KeyPair> = OnceLock::new();
    KEY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        KeyPair::open(&folder.path().join("key")).expect("is made")
    })
}

const GIVEN: ResultId = ResultId { unit: 5, instance: 1 };

/// An upload as the client writes it.
fn upload(name: &str, most: u64, bytes: usize, offset: u64, data: &str) -> String {
    let signature = key().sign(certificate_text("c_5_1_out", LONGEST_FILE).as_bytes()).expect("signs");
    format!(
        "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n<file_upload>\n\
         <file_info>\n<name>{name}</name>\n<xml_signature>\n{}</xml_signature>\n\
         <max_nbytes>{most}</max_nbytes>\n</file_info>\n<nbytes>{bytes}</nbytes>\n\
         <md5_cksum>{}</md5_cksum>\n<offset>{offset}</offset>\n<data>\n{data}",
        signature.trim_end(),
        md5_hex(data.as_bytes())
    )
}

fn parse(body: &str) -> Result<UploadRequest, UploadRefusal> {
    parse_upload(body.as_bytes(), key())
}

#[test]
fn an_upload_with_its_certificate_is_taken_byte_by_byte() {
    let data = "<data>\n</file_info><name>c_9_9_out</name>";
    let body = upload("c_5_1_out", LONGEST_FILE, data.len(), 0, data);
    assert_eq!(parse(&body), Ok(UploadRequest::Put(GIVEN, data.into())));
}

#[test]
fn forgeries_are_refused_for_good() {
    let data = "x";
    for (name, most) in [
        // The certificate is that of another file, or of another size.
        ("c_5_2_out", LONGEST_FILE),
        ("c_5_1_out", LONGEST_FILE + 1),
        // Attempts to leave the directory.
        ("../c_5_1_out", LONGEST_FILE),
        ("c_5_1_out/../../x", LONGEST_FILE),
        ("/etc/passwd", LONGEST_FILE),
        ("c_05_1_out", LONGEST_FILE),
        ("", LONGEST_FILE),
    ] {
        let refused = parse(&upload(name, most, 1, 0, data));
        assert!(matches!(refused, Err(UploadRefusal::Permanent(_))), "{name}: {refused:?}");
    }
    let body = upload("c_5_1_out", LONGEST_FILE, 1, 0, data);
    let unsigned = body.split("<xml_signature>").next().expect("has one").to_string()
        + body.split("</xml_signature>").nth(1).expect("has one");
    assert!(matches!(parse(&unsigned), Err(UploadRefusal::Permanent(why)) if why.contains("certificate")));
    let large = upload("c_5_1_out", LONGEST_FILE, LONGEST_FILE as usize + 1, 0, data);
    assert!(matches!(parse(&large), Err(UploadRefusal::Permanent(why)) if why.contains("larger")));
}

#[test]
fn a_damaged_upload_may_be_tried_again() {
    for body in [
        upload("c_5_1_out", LONGEST_FILE, 2, 0, "x"),
        upload("c_5_1_out", LONGEST_FILE, 2, 1, "x"),
        upload("c_5_1_out", LONGEST_FILE, 1, 0, "x") + "y",
        upload("c_5_1_out", LONGEST_FILE, 1, 0, "x").replace("<data>\nx", "<data>\ny"),
    ] {
        assert!(matches!(parse(&body), Err(UploadRefusal::Temporary(_))), "{body}");
    }
}

#[test]
fn a_size_is_asked_for_by_name() {
    let body = |name: &str| {
        format!("<data_server_request>\n<get_file_size>{name}</get_file_size>\n</data_server_request>\n")
    };
    assert_eq!(parse(&body("c_5_1_out")), Ok(UploadRequest::Size(GIVEN)));
    assert!(matches!(parse(&body("../../etc/passwd")), Err(UploadRefusal::Permanent(_))));
    for body in ["", "<data_server_request></data_server_request>", "<data>\n"] {
        assert!(parse(body).is_err(), "{body}");
    }
    assert_eq!(
        upload_reply(&Ok(Some(7))),
        "<data_server_reply>\n<status>0</status>\n<file_size>7</file_size>\n</data_server_reply>\n"
    );
    assert!(
        upload_reply(&Err(UploadRefusal::Permanent("a<b".into())))
            .contains("<status>-1</status>\n<message>a&lt;b</message>")
    );
}

#[test]
fn the_longest_uploads_are_read_however_deep_they_are() {
    for part in
        ["<data_server_request>", "<file_upload><file_info>", "<data>\n", "<data>", "<name>", "<", "&"]
    {
        let long = part.repeat(LONGEST as usize / part.len());
        for body in [long.clone(), format!("<data_server_request>\n<file_upload>\n{long}")] {
            assert!(parse(&body).is_err(), "{part}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_are_taken_without_a_certificate(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(!matches!(parse_upload(&bytes, key()), Ok(UploadRequest::Put(..))));
    }

    #[test]
    fn no_damaged_upload_is_stored_as_another(
        body in damaged(upload("c_5_1_out", LONGEST_FILE, 3, 0, "abc").into_bytes())
    ) {
        if let Ok(UploadRequest::Put(result, data)) = parse_upload(&body, key()) {
            // If the checksum is damaged, too, the data may differ; they are never stored for another
            // result.
            prop_assert_eq!(result, GIVEN);
            prop_assert!(data == b"abc" || !String::from_utf8_lossy(&body).contains(&md5_hex(b"abc")));
        }
    }
}
