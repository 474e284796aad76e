//! Against a client that speaks the protocol and checks a password.

use super::*;
use crate::client::mock::MockClient;

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
    client.pause(Duration::from_secs(3)).expect("is done");
    client.resume().expect("is done");
    let mode = |mode: &str| format!("<set_run_mode>\n{mode}</duration>\n</set_run_mode>");
    let modes = [mode("<never/>\n<duration>3.000"), mode("<restore/>\n<duration>0.000")];
    assert_eq!(mock.requests()[2..], modes);
}

#[test]
fn a_wrong_password_is_reported_and_nothing_is_done() {
    let mock = MockClient::start("secret", &[], usize::MAX);
    for password in [Some("guess"), None] {
        let fault = mock.client(password).command("<quit/>").expect_err("refused");
        assert!(fault.message.contains("password"), "{fault}");
        assert!(fault.remedy.is_some_and(|remedy| remedy.contains(PASSWORD)), "no remedy");
    }
    assert_eq!(mock.requests(), [] as [String; 0]);
}

#[test]
fn a_refusal_is_quoted_without_the_key() {
    let attach = "<project_attach>\n<authenticator>secret</authenticator>\n</project_attach>";
    let refused = |reply| {
        let answers = vec![("<project_attach", reply)].leak();
        MockClient::start("", answers, usize::MAX)
            .client(None)
            .command(attach)
            .expect_err("refused")
            .to_string()
    };
    let said = refused("<error>Already attached to project</error>");
    assert!(said.contains("`project_attach`: Already attached") && !said.contains("secret"), "{said}");
    assert!(refused("<status>-108</status>").contains("code -108"));
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
