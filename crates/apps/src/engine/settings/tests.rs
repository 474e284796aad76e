//! Tests of `settings`.

use super::*;
use std::net::{TcpListener, TcpStream};

fn with(pairs: &[(&str, &str)]) -> Result<Engine, Fault> {
    Engine::from_params(
        &pairs.iter().fold(Params::default(), |params, (name, value)| params.with(name, *value)),
    )
}

#[test]
fn what_is_not_said_is_native() {
    assert_eq!(with(&[]).expect("reads").spark(), None);
}

#[test]
fn bad_values_are_named() {
    let refusal = |pairs: &[(&str, &str)]| with(pairs).expect_err("refused").to_string();
    assert!(refusal(&[("engine", "sparc")]).contains("did you mean `spark`?"));
    assert!(refusal(&[("passes", "3")]).contains("no engine is selected"));
    assert_eq!(with(&[("engine", "native"), ("passes", "3")]), Ok(Engine::Native));
    assert!(refusal(&[("engine", "spark"), ("worker_memory", "1 MB")]).contains("at least 512 MiB"));
    assert!(refusal(&[("engine", "spark"), ("worker_cores", "0")]).contains("at least 1"));
    let replayed = Params::default().with("engine", "spark").with("replay", true);
    assert!(
        Engine::from_params(&replayed).expect_err("refused").to_string().contains("native engine's ranks")
    );
    for url in
        ["spark://", "spark://host", "spark://:7077", "spark://host:0", "spark://a/b:1", "spark://[::g]:1"]
    {
        assert!(refusal(&[("engine", url)]).contains("expected spark://HOST:PORT"), "{url}");
    }
}

#[test]
fn a_master_that_does_not_answer_is_missing() {
    let at = |url: &str| {
        let own = with(&[("engine", url)]).expect("reads").spark().and_then(|spark| spark.own.clone());
        own.expect("is the user's")
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let url = format!("spark://{}", listener.local_addr().expect("an address"));
    assert!(at(&url).need().is_found());
    assert_eq!(at(&url).own_address().expect("is routed"), IpAddr::from([127, 0, 0, 1]));
    // No other test gets a connection's own end while it lives, and nobody listens on it.
    let held = TcpStream::connect(listener.local_addr().expect("an address")).expect("is accepted");
    assert!(!at(&format!("spark://{}", held.local_addr().expect("an address"))).need().is_found());
    let nowhere = at("spark://no-such-host.invalid:7077");
    assert!(!nowhere.need().is_found() && nowhere.own_address().is_err());
}

#[test]
fn a_masters_address_selects_that_cluster() {
    for url in ["spark://head.example.org:7077", "spark://[fe80::1]:7077"] {
        let engine = with(&[("engine", url)]).expect("reads");
        assert_eq!(engine.spark().and_then(|spark| spark.own.clone()).expect("is the user's").url, url);
    }
    assert_eq!(with(&[("engine", "spark")]).expect("reads").spark().map(|s| s.own.clone()), Some(None));
}
