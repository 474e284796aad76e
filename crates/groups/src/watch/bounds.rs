//! How long a program waits at most, whatever happens to the watcher.
//!
//! The worst case: a program waits for its group as long as it may, the watcher notices that as late as it may, and is
//! stopped just before it lets the program continue. Its timer was then renewed just before.
//!
//! | the program waits | at most |
//! |---|---|
//! | for its group | [`LONGEST_WAIT`] |
//! | until the watcher looks at the clock | [`LONGEST_CHECK`] |
//! | until the kernel's timer kills the stopped watcher | [`SILENCE`] |
//! | to be read from the queue, and until the killed watcher's descriptor is closed | [`ROOM`] |
//! | in all | [`PROMISE`] |
//!
//! A watcher that is killed comes without the third line. The supervisor is in none: where no watcher is, nobody waits.

use std::time::Duration;

/// What users are promised.
const PROMISE: Duration = Duration::from_secs(1);
/// The longest that a program waits for its group. Making one takes some tens of milliseconds, moving a process up to
/// twenty.
pub const LONGEST_WAIT: Duration = Duration::from_millis(350);
/// A watcher that has not renewed its timer for this time is killed.
pub const SILENCE: Duration = Duration::from_millis(300);
/// How often it renews its timer if nothing happens.
pub const TICK: Duration = Duration::from_millis(100);
/// The same while a program waits for its group.
pub const SHORT_TICK: Duration = Duration::from_millis(20);
/// The least time between two renewals, and between two looks at those that wait.
pub const RENEWAL: Duration = Duration::from_millis(50);

/// From the end of the longest wait to the look that notices it. A start that is killed may cost a tick: then the watcher
/// waits for another one to read.
const LONGEST_CHECK: Duration = Duration::from_millis(150);
/// What is left for a busy machine.
const ROOM: Duration = Duration::from_millis(200);

const _: () = {
    let worst = LONGEST_WAIT.as_millis() + LONGEST_CHECK.as_millis() + SILENCE.as_millis() + ROOM.as_millis();
    assert!(worst <= PROMISE.as_millis(), "nobody waits longer than promised");
    assert!(SHORT_TICK.as_millis() <= TICK.as_millis());
    assert!(RENEWAL.as_millis() + TICK.as_millis() <= LONGEST_CHECK.as_millis());
    assert!(3 * TICK.as_millis() <= SILENCE.as_millis(), "a busy machine is no reason to kill the watcher");
};
