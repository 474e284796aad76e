//! Tests of `line`.

use super::*;
use crate::peer::socket::{accept, connect, listen};
use crosstalk_core::units::Seconds;
use std::sync::atomic::{AtomicBool, Ordering};

fn pair(until: &Deadline) -> (Line, Line) {
    let listener = listen(([127, 0, 0, 1], 0).into()).expect("listens");
    let there = connect(listener.local_addr().expect("has one"), until).expect("connects");
    let (here, _) = accept(&listener, until).expect("accepts");
    (Line::new(here).expect("opens"), Line::new(there).expect("opens"))
}

#[test]
fn lines_arrive_in_order_and_then_the_end() {
    let flag = AtomicBool::new(false);
    let until = Deadline::new(Seconds(5.0), &flag);
    let (here, mut there) = pair(&until);
    here.send(&1).expect("says");
    here.send(&"two").expect("says");
    drop(here);
    assert_eq!(there.receive(&until), Ok(Some(1)));
    assert!(there.is_readable());
    assert_eq!(there.receive(&until), Ok(Some("two".to_string())));
    assert_eq!(there.receive::<u8>(&until), Ok(None));
}

#[test]
fn a_line_that_never_ends_is_not_waited_for() {
    let flag = AtomicBool::new(false);
    let (mut here, there) = pair(&Deadline::new(Seconds(5.0), &flag));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut drip = &there.writer;
            while !over.load(Ordering::Relaxed) && io::Write::write_all(&mut drip, b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let fault = here.receive::<u8>(&Deadline::new(Seconds(0.3), &flag)).expect_err("never ends");
        assert!(fault.message.contains("did not end it"), "{fault}");
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn silence_ends_at_the_limit() {
    let flag = AtomicBool::new(false);
    let (mut here, there) = pair(&Deadline::new(Seconds(5.0), &flag));
    assert!(!there.is_readable());
    let fault = here.receive::<u8>(&Deadline::new(Seconds(0.1), &flag)).expect_err("says nothing");
    assert_eq!(fault.place, Some(here.peer().to_string()));
}
