//! Tests of `running`.

use super::*;

#[test]
fn options_are_found_with_one_dash_or_two() {
    let words = ["boinc", "--dir", "/d", "-gui_rpc_port", "7", "dir"].map(String::from);
    assert_eq!(option(&words, "dir"), Some("/d"));
    assert_eq!(option(&words, "gui_rpc_port"), Some("7"));
    assert_eq!(option(&words, "redirectio"), None);
    assert_eq!(option(&words[..2], "dir"), None, "nothing follows");
}

#[test]
fn a_client_without_the_option_listens_at_the_default_port() {
    // This process's own command line has no such option.
    let found = RunningClient::of(&one(std::process::id()).expect("is there"));
    assert_eq!(found.address, SocketAddr::from(([127, 0, 0, 1], PORT)));
    assert_eq!(found.folder, std::env::current_dir().ok());
}

#[test]
fn an_address_of_another_machine_is_refused_with_what_to_do() {
    // Reserved for documentation (RFC 5737).
    let way = ClientSelector { address: Some(([192, 0, 2, 1], PORT).into()), password: None };
    let fault = way.find().expect_err("is another machine's");
    assert!(fault.message.contains("another machine"), "{fault}");
    assert_eq!(fault.place.as_deref(), Some("192.0.2.1:31416"));
    assert!(fault.remedy.is_some_and(|remedy| remedy.contains("127.0.0.1:31416")));
    assert!(is_here(Ipv4Addr::LOCALHOST.into()));
}

#[test]
fn the_packaged_client_is_preferred() {
    let packages = [Some(105), None];
    let mut users = [65_534, 0, 105];
    users.sort_by_key(|user| preference(*user, &packages));
    assert_eq!(users, [105, 0, 65_534]);
    assert_eq!(preference(0, &[Some(0)]), 0);
}

#[test]
fn nobody_at_an_address_is_a_fault_that_names_it() {
    // Nobody listens at this port.
    let way = ClientSelector { address: Some((Ipv4Addr::LOCALHOST, 1).into()), password: None };
    let fault = way.find().expect_err("nobody listens");
    assert_eq!(fault.place.as_deref(), Some("127.0.0.1:1"));
}
