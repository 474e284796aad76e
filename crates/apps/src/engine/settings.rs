//! The engine that runs an application.

use crosstalk_core::Fault;
use crosstalk_core::need::Need;
use crosstalk_core::parameter::Parameter;
use crosstalk_core::units::Bytes;
use crosstalk_core::value::{Params, parameter_fault};
use crosstalk_work::peer::record::RECORD;
use crosstalk_work::peer::replay::REPLAY;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

/// The parameters that select and configure the engine.
pub const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "engine",
        "native",
        "`native`, `spark`, or the address of your own cluster's master, spark://HOST:PORT",
    ),
    Parameter::new(
        "worker_cores",
        "this machine's over the slaves",
        "cores an executor of Spark computes on",
    ),
    Parameter::new("worker_memory", "an eighth of this machine's over the nodes", "an executor's heap"),
    Parameter::new("passes", "8", "the most passes until Spark's Java counts as warm"),
];

/// The beginning of a master's address.
const SCHEME: &str = "spark://";

/// What runs an application: this program itself, or Spark.
#[derive(Debug, Clone, PartialEq)]
pub enum Engine {
    /// Our own program.
    Native,
    /// Apache Spark.
    Spark(Spark),
}

/// The settings of the engine Spark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    /// The user's own cluster; `None`: one is started in the nodes.
    pub own: Option<UserCluster>,
    /// Cores of an executor [default: its share of this machine's, or 1 on the user's own cluster].
    pub cores: Option<usize>,
    /// Heap of an executor [default: its share of an eighth of this machine's memory, or 1 GiB on the user's
    /// own cluster].
    pub memory: Option<Bytes>,
    /// The most passes until Java counts as warm.
    pub passes: u64,
}

/// A standalone Spark cluster of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCluster {
    /// Its master's address, `spark://HOST:PORT`.
    pub url: String,
    /// The same, without the scheme.
    pub master: String,
}

/// How long a master may take to answer a check.
const POLL: Duration = Duration::from_millis(500);

impl UserCluster {
    /// Whether something listens at the master's address.
    fn need(&self) -> Need {
        let mut addresses = self.master.to_socket_addrs().into_iter().flatten();
        if addresses.any(|address| TcpStream::connect_timeout(&address, POLL).is_ok()) {
            return Need::found(self.url.as_str(), "something listens there");
        }
        Need::missing(
            format!("a Spark master at {}", self.url),
            "nobody listens there",
            "look whether it has started, and on which address",
        )
    }

    /// This machine's address on the route to the master. Nothing is sent.
    pub fn own_address(&self) -> io::Result<IpAddr> {
        let mut why = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
        for master in self.master.to_socket_addrs()? {
            let any: IpAddr =
                if master.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
            let routed = UdpSocket::bind((any, 0))
                .and_then(|socket| socket.connect(master).and_then(|()| socket.local_addr()));
            match routed {
                Ok(address) => return Ok(address.ip()),
                Err(e) => why = e,
            }
        }
        Err(why)
    }
}

/// The smallest heap that Spark starts with: 450 MiB and what it reserves.
const LEAST_MEMORY: u64 = 512 << 20;

impl Engine {
    /// Reads and checks the parameters.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        let own = own(params)?;
        if own.is_none() && params.choice("engine", &["native", "spark"])? == "native" {
            // Where engines are compared, the native one has the other's parameters, too.
            let chosen = params.get("engine").is_some();
            let mut set_up =
                PARAMETERS.iter().map(|parameter| parameter.name).filter(|name| *name != "engine");
            return match set_up.find(|name| !chosen && params.get(name).is_some()) {
                None => Ok(Engine::Native),
                Some(name) => {
                    Err(parameter_fault(name, "it configures Spark, and no engine is selected".into())
                        .remedy(format!("leave out `{name}`, or set engine = \"spark\" (--engine spark)")))
                }
            };
        }
        for of_ranks in [RECORD, REPLAY] {
            if params.flag(of_ranks.name, false)? {
                return Err(parameter_fault(
                    of_ranks.name,
                    "only the native engine's ranks can be recorded".into(),
                )
                .remedy(format!("leave out `{}`", of_ranks.name)));
            }
        }
        Ok(Engine::Spark(Spark {
            own,
            cores: count(params, "worker_cores", 1, 4096)?.map(|cores| cores as usize),
            memory: memory(params)?,
            passes: params.bounded("passes", 8, 1, 1000)?,
        }))
    }

    /// Spark's settings, where that is the engine.
    pub fn spark(&self) -> Option<&Spark> {
        match self {
            Engine::Native => None,
            Engine::Spark(spark) => Some(spark),
        }
    }

    /// What it needs of each machine.
    pub fn needs(&self) -> Vec<Need> {
        let Some(spark) = self.spark() else { return Vec::new() };
        super::spark::needs().into_iter().chain(spark.own.as_ref().map(UserCluster::need)).collect()
    }

    /// Refuses parameters that only the native engine has.
    pub fn refuse_native_only(&self, params: &Params, names: &[&str]) -> Result<(), Fault> {
        match names.iter().find(|name| params.get(name).is_some()) {
            Some(name) if *self != Engine::Native => {
                Err(parameter_fault(name, "Spark has no such setting".into())
                    .remedy(format!("leave out `{name}`")))
            }
            _ => Ok(()),
        }
    }
}

/// The user's own cluster, where the engine is its address.
fn own(params: &Params) -> Result<Option<UserCluster>, Fault> {
    let engine = params.text("engine", "native")?;
    let Some(master) = engine.strip_prefix(SCHEME) else { return Ok(None) };
    let named = master.rsplit_once(':').is_some_and(|(host, port)| {
        let port = port.parse::<u16>().is_ok_and(|port| port != 0);
        let plain = |host: &str| host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = v6.map_or(!host.is_empty() && plain(host), |host| host.parse::<IpAddr>().is_ok());
        port && host
    });
    if !named {
        return Err(parameter_fault("engine", format!("expected spark://HOST:PORT, found `{engine}`"))
            .remedy("the master's log and its web page show its address"));
    }
    Ok(Some(UserCluster { url: engine.to_string(), master: master.to_string() }))
}

fn count(params: &Params, name: &str, least: u64, most: u64) -> Result<Option<u64>, Fault> {
    params.get(name).map(|_| params.bounded(name, least, least, most)).transpose()
}

fn memory(params: &Params) -> Result<Option<Bytes>, Fault> {
    if params.get("worker_memory").is_none() {
        return Ok(None);
    }
    let size = params.size("worker_memory", Bytes(LEAST_MEMORY))?;
    if size.0 < LEAST_MEMORY {
        return Err(parameter_fault(
            "worker_memory",
            format!("Spark needs at least 512 MiB, found {} B", size.0),
        ));
    }
    Ok(Some(size))
}

#[cfg(test)]
mod tests;
