//! How a client or a server waits for a message.

use serde::{Deserialize, Serialize};
use std::time::Duration;

use crosstalk_core::Fault;
use crosstalk_core::value::Params;

/// How a client or a server waits for a message: it sleeps or it polls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// It sleeps in the kernel until the message is there.
    Blocking,
    /// It polls, and never sleeps.
    Polling,
}

impl Mode {
    /// Reads the parameter `mode`.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        Ok(match params.choice("mode", &["blocking", "polling"])? {
            "polling" => Mode::Polling,
            _ => Mode::Blocking,
        })
    }

    /// The longest sleep of a wait that may sleep for `nap`; `None`: it never sleeps.
    pub fn longest_sleep(self, nap: Duration) -> Option<Duration> {
        (self == Mode::Blocking).then_some(nap)
    }

    /// Its name in a study file.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Blocking => "blocking",
            Mode::Polling => "polling",
        }
    }
}
