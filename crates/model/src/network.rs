//! Ranks that exchange messages over an emulated network, in virtual time: one simulator for what runs and for
//! what was recorded.
//!
//! The parameters are LogGOPS's (Hoefler, Schneider and Lumsdaine, "LogGOPSim: simulating large-scale
//! applications in the LogGOPS model", HPDC 2010, after LogGP, Alexandrov et al., SPAA 1995, and LogP, Culler et
//! al., PPoPP 1993). Published tools differ under contention: these are the rules used here. `s` is the size of
//! a message in bytes; `(s − 1)` is zero for an empty one. Times are whole picoseconds.
//!
//! A rank has a **CPU** (its clock). A node has a **card** with one queue of messages that leave and one of
//! messages that arrive, which its ranks share. Both serve messages in the order in which these are ready.
//! The fabric's L, o, g, G, O may depend on the size; a message-passing library may add to o, and copy.
//!
//! 1. **Send.** At `t` the CPU is busy until `t + o + (s−1)·O`. It never waits for the card. The message is
//!    ready at `t + o`, leaves at `d` when the card is free, and occupies it until `d + g + (s−1)·G`. Its head
//!    reaches the receiver's card at `d + L`.
//! 2. **Arrival.** The receiver's card begins to receive it at `a`, when its head is there and the card is
//!    free, and is occupied until `a + g + (s−1)·G`.
//! 3. **Receive.** A rank that waits for it from `t` on handles its bytes as they come, and ends after the last
//!    one: at `max(max(t, a) + o + (s−1)·O, a + (s−1)·G + o)`. What is waited for together is handled in the
//!    order of arrival.
//! 4. **Rendezvous.** A message above the eager limit S is announced: rules 1 and 2 hold for an empty message.
//!    Once that has come, at `a`, and the receive is posted, at `p`, the receiver's card answers without its
//!    CPU; the answer is back at `c = max(a, p) + L`. After the library's preparation the data are ready to
//!    leave: rules 1 and 2 hold for them, without o. The receiver handles them by rule 3. The sender's wait ends
//!    when they have left: at `max(max(t, d) + (s−1)·O, d + (s−1)·G)`. Its CPU is busy for `(s−1)·O` of that
//!    only: until then it handles what else is waited for together.
//! 5. **One node.** Messages between two ranks of a node go by the fabric `memory` instead, eagerly, and pass no
//!    card. A rank's message to itself is free.
//! 6. **Boards.** Nodes of a board may share its link to the others, which takes U for a byte and has one queue each
//!    way, as a card has. A message to another board passes both boards' links on its way from card to card. Its head
//!    comes to the link of the sender's board at `d`, begins to pass at `e` when that is free, and occupies it until
//!    `e + s·U`. It comes to the link of the receiver's board at `e + L`, begins to pass at `f` when that is free, and
//!    occupies it until `f + s·U`. At `f` it reaches the receiver's card, and rule 2 holds. In rule 3 its last byte
//!    comes at `max(a + (s−1)·G, f + (s−1)·U)`. What waits for a link keeps no card busy. An empty message passes as
//!    one byte does, the answer of rule 4 at once. Default: links of boards delay nothing.
//! 7. **Test.** A request is done once its last byte has come, or has left. A test that finds it undone takes o,
//!    and at least a nanosecond.
//! 8. **Collectives** are rounds of messages ([`crate::collective`]). In each a rank posts its receives, sends,
//!    and waits for all. Combining takes the time a byte that the host was found to need.
//!
//! Closed forms that follow, without contention: an eager message takes `2o + L + (s−1)·max(O, G)`; one by
//! rendezvous, whose receive is posted before, `2o + 3L + (s−1)·max(O, G)` with the library's preparation on
//! top; k messages from one card leave `max(o + (s−1)·O, g + (s−1)·G)` apart. Where boards share links, write
//! `max(O, G, U)`: a link that is no slower than a card delays no message that is alone. Of k nodes of a board that
//! send to as many on other boards at once, the last message is `(k − 1)·s·U` late, and so it is to k nodes of one board.
//!
//! **Order.** Everything that ranks have in common happens in the order of virtual time, at equal times in that
//! of the ranks' numbers. So the result depends on the programs and on the time that they compute, and on
//! nothing else. If a program runs while it is simulated, an event waits until no running rank can do anything
//! that comes before it.
//!
//! **Not modelled:** switches and cables between the cards but for the links of boards; loss; the time of packing and
//! copying inside a collective.

mod card;
mod charge;
mod clock;
mod collective;
mod deadlock;
mod event;
mod execute;
mod matching;
mod message;
mod operation;
mod rank;
mod request;
mod round;
mod simulator;
mod transit;

pub use charge::Charge;
pub use clock::TimeBreakdown;
pub use execute::scaled;
pub use operation::{
    Answer, Call, CommunicatorNumber, Next, Operation, Pattern, Received, RequestNumber, Site, Sizes, Source,
    TimeUse,
};
pub use simulator::{Network, Progress};

#[cfg(test)]
mod tests;
