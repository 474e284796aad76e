//! Tests of `throttled`.

use super::*;
use crate::client::mock::MockClient;
use crosstalk_cgroup::process::one;
use crosstalk_host::Launcher;
use std::fs;
use std::path::PathBuf;

const ANSWERS: &[(&str, &str)] = &[
    ("<get_cc_config", "<cc_config><options><ncpus>3</ncpus></options></cc_config>"),
    ("<get_cc_status", "<cc_status><task_mode>2</task_mode><task_mode_perm>2</task_mode_perm></cc_status>"),
];

/// A ledger that writes to a file which verbs it has run.
fn ledger(undone: &Path) -> Ledger {
    let script = format!(
        "if [ $0 = reap ]; then printf +; cat > /dev/null; else echo $0 \"$@\" >> {}; fi",
        undone.display()
    );
    Ledger::open(&Launcher { program: "sh".into(), args: vec!["-c".into(), script.into()] })
        .expect("a ledger")
}

/// The mock as a running client of this user.
fn found(mock: &MockClient, folder: &Path) -> RunningClient {
    let user = one(std::process::id()).expect("is there").user;
    RunningClient { pid: 1, user, address: mock.address, folder: Some(folder.into()) }
}

/// A throttled client, its mock, and the folder that holds `undone`.
fn client(
    answers: &'static [(&'static str, &'static str)],
) -> (ThrottledClient, MockClient, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join(PASSWORD), "secret").expect("writes");
    let mock = MockClient::start("secret", answers, usize::MAX);
    let found = found(&mock, folder.path());
    let ledger = ledger(&folder.path().join("undone"));
    (ThrottledClient::new(&found, &ClientSelector::default(), &ledger).expect("answers"), mock, folder)
}

fn numbers(mock: &MockClient) -> Vec<String> {
    let set = |asked: &String| Some(asked.split_once("<ncpus>")?.1.split_once('<')?.0.to_string());
    mock.requests().iter().filter_map(set).collect()
}

#[test]
fn it_gets_fewer_processors_for_a_time_and_never_more_than_its_owner_allows() {
    let (mut client, mock, folder) = client(ANSWERS);
    client.set_cores(Some(1)).expect("is done");
    client.set_cores(Some(8)).expect("is done");
    client.set_cores(None).expect("is done");
    client.set_cores(None).expect("there is nothing to do");
    assert_eq!(numbers(&mock), ["1", "3", "3"]);
    drop(client);
    assert!(!folder.path().join("undone").exists(), "it was put back already");
}

#[test]
fn a_setting_that_is_not_restored_is_in_the_ledger() {
    let (mut client, mock, folder) = client(ANSWERS);
    client.set_cores(Some(2)).expect("is done");
    drop(client);
    let undone = fs::read_to_string(folder.path().join("undone")).expect("is undone");
    let words: Vec<&str> = undone.split_whitespace().collect();
    assert_eq!((words[0], words[1], words[5]), (VERB, mock.address.to_string().as_str(), "3"));
    let words: Vec<String> = words[1..].iter().map(ToString::to_string).collect();
    restore_cores(&words, REPLY_TIMEOUT).expect("is done");
    assert_eq!(numbers(&mock), ["2", "3"]);
}

#[test]
fn a_busy_client_s_processors_are_restored_where_there_is_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(PASSWORD);
    fs::write(&file, "secret").expect("writes");
    // Like a busy client, ten times as fast.
    let mock = MockClient::slow("secret", ANSWERS, Duration::from_millis(100));
    let text = |path: &Path| path.display().to_string();
    let words =
        [mock.address.to_string(), text(&file), text(folder.path()), ANY_OWNER.into(), "3".to_string()];
    let fault = restore_cores(&words, Duration::from_millis(200)).expect_err("that is too little");
    assert!(fault.message.contains("did not answer"), "{fault}");
    assert_eq!(numbers(&mock), [] as [String; 0]);
    restore_cores(&words, REPLY_TIMEOUT).expect("is done");
    assert_eq!(numbers(&mock), ["3"]);
}

#[test]
fn it_is_paused_for_a_time_unless_its_owner_has_paused_it_for_longer() {
    let (mut client, mock, _folder) = client(ANSWERS);
    client.resume().expect("there is nothing to do");
    client.suspend(Duration::from_secs(8)).expect("is done");
    client.resume().expect("is done");
    let modes = |mock: &MockClient| -> Vec<String> {
        mock.requests().into_iter().filter(|asked| asked.starts_with("<set_run_mode")).collect()
    };
    let asked = modes(&mock);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("<never/>") && asked[0].contains("8.000"), "{asked:?}");
    assert!(asked[1].contains("<restore/>"), "{asked:?}");

    let (mut client, mock, _folder) =
        self::client(&[("<get_cc_status", "<cc_status><task_mode>3</task_mode></cc_status>")]);
    client.suspend(Duration::from_secs(8)).expect("is so already");
    client.resume().expect("is not ours to do");
    assert_eq!(modes(&mock), [] as [String; 0]);
}

#[test]
fn a_wrong_password_is_reported_before_anything_is_changed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mock = MockClient::start("secret", ANSWERS, usize::MAX);
    let found = found(&mock, folder.path());
    let ledger = ledger(&folder.path().join("undone"));
    let file = folder.path().join("mine");
    fs::write(&file, "guess").expect("writes");
    let way = ClientSelector { address: None, password: Some(file) };
    let fault = ThrottledClient::new(&found, &way, &ledger).expect_err("refused");
    assert!(fault.message.contains("password"), "{fault}");
    let fault = ThrottledClient::new(&found, &ClientSelector::default(), &ledger).expect_err("has none");
    assert!(fault.place.is_some_and(|place| place.ends_with(PASSWORD)));
    assert_eq!(mock.requests(), [] as [String; 0]);
}

#[test]
fn a_password_of_another_user_is_read_only_where_it_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mock = MockClient::start("secret", ANSWERS, usize::MAX);
    let ledger = ledger(&folder.path().join("undone"));
    let file = folder.path().join(PASSWORD);
    fs::write(&file, "secret").expect("writes");
    let own = found(&mock, folder.path());
    let other = RunningClient { user: own.user + 1, ..own };
    let fault = ThrottledClient::new(&other, &ClientSelector::default(), &ledger).expect_err("is refused");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("--boinc-password-file")));
    assert_eq!(mock.requests(), [] as [String; 0]);
    let way = ClientSelector { address: None, password: Some(file) };
    ThrottledClient::new(&other, &way, &ledger).expect("answers");
}

#[test]
fn the_settings_file_of_an_ended_client_is_restored_and_no_other() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    fs::write(path(PASSWORD), "secret").expect("writes");
    // The address of a client that has ended.
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("listens");
        listener.local_addr().expect("has one").to_string()
    };
    let words = |number: &str| {
        let text = |path: &Path| path.display().to_string();
        [address.clone(), text(&path(PASSWORD)), text(folder.path()), ANY_OWNER.into(), number.to_string()]
    };
    let restore_cores = |words: &[String]| restore_cores(words, REPLY_TIMEOUT);
    restore_cores(&words("4")).expect("there is no file");
    let [at, file, _, user, number] = words("4");
    let fault = restore_cores(&[at, file, String::new(), user, number]).expect_err("which file is not known");
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("crosstalk clean")));
    fs::write(path("cc_config.xml"), "root:x:0").expect("writes");
    restore_cores(&words("4")).expect("it is another's");
    let read = || fs::read_to_string(path("cc_config.xml")).expect("reads");
    assert_eq!(read(), "root:x:0");
    fs::write(path("cc_config.xml"), "<cc_config><options><ncpus>1</ncpus></options></cc_config>")
        .expect("writes");
    restore_cores(&words("4")).expect("is done");
    assert_eq!(read(), "<cc_config><options><ncpus>4</ncpus></options></cc_config>");
    restore_cores(&words(ALL)).expect("is done");
    assert_eq!(read(), "<cc_config><options></options></cc_config>");
    assert!(restore_cores(&words("x")).is_err() && restore_cores(&[]).is_err());
}
