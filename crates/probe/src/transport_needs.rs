//! What transports need of a machine.

use crosstalk_core::need::Need;

use super::mode::Mode;
use super::processors;
use super::transport::Transport;

/// What transports need of this machine that not every machine has.
pub fn transport_needs() -> Vec<Need> {
    let carriers =
        [crosstalk_observe::redirect::need(), crosstalk_comm::dpdk::need(), crosstalk_comm::rdma::need()];
    let polling = processors::need(Mode::Polling);
    [Transport::IoUring.need()].into_iter().chain(carriers).chain(polling).collect()
}
