//! How messages leave, arrive, and find their receive.

use super::charge::{Charge, Passage, Route};
use super::event::{Event, EventKind, Moment, Order};
use super::matching::{Key, NONE};
use super::message::{Message, Sending, Stage};
use super::operation::{Pattern, Received};
use super::request::{Handle, Ready, State};
use super::simulator::Network;
use crate::time::VirtualTime;

impl Network<'_> {
    /// Rules 1 and 4: sends a message at the sender's clock. `waiting` is the request that is done once a message
    /// by rendezvous has left; returns whether it waits for that.
    pub(super) fn send(&mut self, sending: Sending, waiting: impl FnOnce(&mut Self) -> Handle) -> bool {
        let Sending { from, to, key, number, bytes, site } = sending;
        let route = self.costs.route(from, to);
        let waits = self.costs.is_rendezvous(route, bytes);
        let (charge, stage, waiting) = match waits {
            true => (self.costs.data(from, to, 0), Stage::Announced, waiting(self)),
            false => (self.costs.eager(from, to, bytes), Stage::Eager, NONE),
        };
        let sender = &mut self.ranks[from as usize];
        let ready = sender.clock.total() + charge.overhead;
        sender.clock.serialise += charge.cpu();
        sender.operations += 1;
        let order = Order { rank: from, operation: sender.operations };
        let message = self.messages.add(Message {
            from,
            to,
            key,
            received: Received { from, number },
            bytes,
            stage,
            waiting,
            order,
            site,
            head: VirtualTime::ZERO,
            arrived: VirtualTime::ZERO,
            passed: VirtualTime::ZERO,
            arrival: 0,
            was_there: false,
            next: NONE,
        });
        match route {
            Route::Own => self.deliver(message, ready, ready),
            Route::Memory => self.push(ready + charge.latency, order, EventKind::Arrive(message)),
            Route::Cards => self.queue(message, ready, &charge),
        }
        waits
    }

    /// A message is ready to leave at `ready`. It leaves at once where nobody else can come before it.
    fn queue(&mut self, message: u32, ready: VirtualTime, charge: &Charge) {
        let Message { from, order, stage, .. } = *self.messages.get(message);
        let node = self.costs.node(from);
        let card = &mut self.cards[node as usize];
        if self.emulation.ranks_per_node > 1 || card.queued > 0 {
            card.queued += 1;
            self.push(ready, order, EventKind::Leave(message));
        } else {
            let leaves = card.leave(ready, charge.card());
            self.send_off(message, leaves, charge);
        }
        if stage == Stage::Announced {
            // Until its data have left, others of this card may have to wait for them.
            self.cards[node as usize].queued += 1;
        }
    }

    fn push(&mut self, at: VirtualTime, order: Order, kind: EventKind) {
        self.events.push(Event { at, order, kind });
    }

    /// What a message costs at this stage.
    fn charge(&self, message: &Message) -> Charge {
        let Message { from, to, bytes, .. } = *message;
        match message.stage {
            Stage::Eager => self.costs.eager(from, to, bytes),
            Stage::Announced => self.costs.data(from, to, 0),
            Stage::Data(_) => self.costs.data(from, to, bytes),
        }
    }

    /// It is the message's turn to leave.
    pub(super) fn leave(&mut self, index: u32, event: VirtualTime) {
        let message = *self.messages.get(index);
        let charge = self.charge(&message);
        let card = &mut self.cards[self.costs.node(message.from) as usize];
        card.queued -= 1;
        let leaves = card.leave(event, charge.card());
        self.send_off(index, leaves, &charge);
        if let Stage::Data(_) = message.stage {
            let whole = leaves + charge.stream;
            let ready = Ready { begin: leaves, cpu: charge.handling, whole, ..Ready::default() };
            self.make_ready(message.from, message.waiting, (event, message.order), ready);
        }
    }

    /// The head of a message leaves its card: for its receiver, or for the link of its board.
    fn send_off(&mut self, index: u32, leaves: VirtualTime, charge: &Charge) {
        let message = *self.messages.get(index);
        match self.passage(&message) {
            Some(_) => self.push(leaves, message.order, EventKind::LeaveBoard(index)),
            None => self.push(leaves + charge.latency, message.order, EventKind::Arrive(index)),
        }
    }

    /// What a message takes of its boards' links at this stage.
    fn passage(&self, message: &Message) -> Option<Passage> {
        let bytes = if message.stage == Stage::Announced { 0 } else { message.bytes };
        self.costs.passage(message.from, message.to, bytes)
    }

    /// Rule 6: the head of a message reaches the link of its sender's board.
    pub(super) fn leave_board(&mut self, index: u32, head: VirtualTime) {
        let message = *self.messages.get(index);
        let passage =
            self.passage(&message).expect("only what passes the links of boards is on its way to one");
        let latency = self.charge(&message).latency;
        let leaves = self.boards[self.costs.board(message.from) as usize].leave(head, passage.busy);
        self.push(leaves + latency, message.order, EventKind::ArriveAtBoard(index));
    }

    /// Rule 6: the head of a message reaches the link of its receiver's board.
    pub(super) fn arrive_at_board(&mut self, index: u32, head: VirtualTime) {
        let message = *self.messages.get(index);
        let passage = self.passage(&message).expect("it has passed its sender's board");
        let begins = self.boards[self.costs.board(message.to) as usize].arrive(head, passage.busy);
        self.messages.get_mut(index).passed = begins + passage.stream;
        self.push(begins, message.order, EventKind::Arrive(index));
    }

    /// Rule 2: the head of a message reaches its receiver.
    pub(super) fn arrive(&mut self, index: u32, head: VirtualTime) {
        let message = *self.messages.get(index);
        let begins = match self.costs.route(message.from, message.to) {
            Route::Cards => {
                let busy = self.charge(&message).card();
                self.cards[self.costs.node(message.to) as usize].arrive(head, busy)
            }
            Route::Own | Route::Memory => head,
        };
        match message.stage {
            Stage::Data(receive) => {
                self.messages.get_mut(index).head = head;
                self.receive(index, receive, begins);
            }
            Stage::Eager | Stage::Announced => self.deliver(index, head, begins),
        }
    }

    /// A message, or its announcement, is there since `begins`: its receive takes it, or it waits for one.
    fn deliver(&mut self, index: u32, head: VirtualTime, begins: VirtualTime) {
        let message = self.messages.get_mut(index);
        (message.head, message.arrived, message.next) = (head, begins, NONE);
        let (key, to) = (message.key, message.to);
        let rank = &mut self.ranks[to as usize];
        let requests = &rank.requests;
        if let Some(receive) = rank.posted.take(key, |entry| requests.get(entry).next) {
            return self.take(index, receive);
        }
        self.messages.unexpected += 1;
        let arrival = self.messages.unexpected;
        self.messages.get_mut(index).arrival = arrival;
        if let Some(before) = self.ranks[to as usize].arrived.add(key, arrival, index) {
            self.messages.get_mut(before).next = index;
        }
    }

    /// A receive takes a message: its bytes are there, or it is answered.
    fn take(&mut self, index: u32, receive: Handle) {
        let message = *self.messages.get(index);
        if message.stage == Stage::Eager {
            return self.receive(index, receive, message.arrived);
        }
        // Rule 4.
        let posted = self.ranks[message.to as usize].requests.get(receive).posted;
        let answered = posted.max(message.arrived) + self.costs.data(message.from, message.to, 0).latency;
        let announced = self.messages.get_mut(index);
        (announced.stage, announced.was_there) = (Stage::Data(receive), false);
        let ready = answered + self.costs.preparation;
        self.push(ready, message.order, EventKind::Leave(index));
    }

    /// Rule 3: the bytes come from `begins` on, for this request.
    fn receive(&mut self, index: u32, receive: Handle, begins: VirtualTime) {
        let message = *self.messages.get(index);
        let charge = self.charge(&message);
        self.messages.remove(index);
        let stream = if message.was_there { VirtualTime::ZERO } else { charge.stream };
        let ready = Ready {
            begin: begins,
            cpu: charge.cpu(),
            whole: message.passed.max(begins + stream),
            after: charge.overhead,
            received: Some((message.received, message.bytes)),
        };
        self.make_ready(message.to, receive, (message.head, message.order), ready);
    }

    /// Posts a receive of one sender and tag.
    pub(super) fn post(&mut self, rank: u32, key: Key, receive: Handle) {
        let messages = &self.messages;
        let state = &mut self.ranks[rank as usize];
        let (next, order) = (|index| messages.get(index).next, |index| messages.get(index).arrival);
        if let Some(message) = state.arrived.take(key, next, order) {
            return self.take(message, receive);
        }
        if let Some(before) = state.posted.add(key, receive) {
            state.requests.get_mut(before).next = receive;
        }
    }

    /// Posts a receive of any sender or tag.
    pub(super) fn post_any(&mut self, rank: u32, communicator: u32, pattern: Pattern, receive: Handle) {
        let messages = &self.messages;
        let state = &mut self.ranks[rank as usize];
        let each = |index| {
            let message = messages.get(index);
            (message.key, message.arrival, message.next)
        };
        match state.arrived.take_any(communicator, pattern, each) {
            Some(message) => self.take(message, receive),
            None => state.posted.add_any(communicator, pattern, receive),
        }
    }

    /// A request is done: its rank may have waited for it.
    pub(super) fn make_ready(&mut self, rank: u32, handle: Handle, moment: Moment, ready: Ready) {
        let state = &mut self.ranks[rank as usize];
        let request = state.requests.get_mut(handle);
        request.state = State::Ready(moment, ready);
        if request.awaited && state.awaited_is_done(handle) {
            self.able.push(rank);
        }
    }
}
