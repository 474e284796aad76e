//! Against a client that speaks the protocol and checks a password.

use super::*;
use crate::client::mock::MockClient;

#[test]
fn md5_is_as_everybody_has_it() {
    assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
    assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
}

#[test]
fn with_the_password_every_operation_succeeds() {
    let mock = MockClient::start(
        "secret",
        &[
            (
                "<exchange_versions",
                "<server_version><major>7</major><minor>20</minor><release>5</release></server_version>",
            ),
            ("<get_results", "<results></results>"),
        ],
        usize::MAX,
    );
    let mut client = mock.client(Some("secret"));
    assert_eq!(client.version(), Ok([7, 20, 5]));
    assert_eq!(client.tasks(), Ok(vec![]));
    client.set_mode(Mode::Never, Some(Duration::from_secs(3))).expect("is done");
    client.attach("http://127.0.0.1:1/p/", "k<y", "x").expect("is done");
    client.update("http://127.0.0.1:1/p/").expect("is done");
    client.quit().expect("is done");
    let asked = mock.requests();
    assert!(
        asked.contains(&"<set_run_mode>\n<never/>\n<duration>3.000</duration>\n</set_run_mode>".to_string())
    );
    assert!(asked.iter().any(|a| a.contains("<authenticator>k&lt;y</authenticator>")));
    assert_eq!(asked.last().map(String::as_str), Some("<quit/>"));
}

#[test]
fn a_wrong_password_is_reported_and_nothing_is_done() {
    let mock = MockClient::start("secret", &[], usize::MAX);
    for password in [Some("guess"), None] {
        let fault = mock.client(password).quit().expect_err("refused");
        assert!(fault.message.contains("password"), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains(PASSWORD)), "no remedy");
    }
    assert_eq!(mock.requests(), [] as [String; 0]);
}

#[test]
fn a_refusal_is_quoted_without_the_key() {
    let mock = MockClient::start(
        "",
        &[("<project_attach", "<error>Already attached to project</error>")],
        usize::MAX,
    );
    let fault = mock.client(None).attach("http://a.b/", "key", "x").expect_err("refused");
    assert!(fault.message.contains("`project_attach`: Already attached"), "{fault}");
    assert!(!fault.to_string().contains("key"), "{fault}");
    let mock = MockClient::start("", &[("<project_update", "<status>-108</status>")], usize::MAX);
    assert!(mock.client(None).update("x").expect_err("refused").message.contains("code -108"));
}

#[test]
fn a_client_that_has_closed_is_connected_to_again() {
    // It closes after two answers: one request fails, the next connects again.
    let mock =
        MockClient::start("", &[("<get_cc_status", "<cc_status><task_mode>2</task_mode></cc_status>")], 2);
    let mut client = mock.client(None);
    let answers: Vec<bool> = (0..6).map(|_| client.status().is_ok()).collect();
    assert_eq!(answers, [true, true, false, true, true, false]);
}
