//! What is tested: the parameters of the workload.

use crosstalk_core::Fault;
use crosstalk_core::parameter::{Parameter, Parameters};
use crosstalk_core::units::Bytes;
use crosstalk_core::value::Params;

use crate::inject::Corruption;
use crate::server::{Site, Sync};

/// The parameters of the workload `files`.
pub const PARAMETERS: Parameters = Parameters(&[&[
    Parameter::new(
        "test",
        "write",
        "what is timed: of names and attributes `create`, `stat`, `list`, `rename` or `remove` (mdtest); of data `write` \
         or `read` (IOR)",
    ),
    Parameter::new("files", "100", "files of each client, in one directory (mdtest -n)"),
    Parameter::new(
        "layout",
        "shared",
        "`shared`: all clients use one file, each a block of it; `file-per-process`: a file each (IOR -F)",
    ),
    Parameter::new(
        "access",
        "sequential",
        "order of a client's transfers: `sequential` or `random` (IOR -z)",
    ),
    Parameter::new("block", "1 MiB", "data of each client (IOR -b), a multiple of `transfer`"),
    Parameter::new("transfer", "256 KiB", "data of one call (IOR -t)"),
    Parameter::new("stripe", "64 KiB", "bytes on one server before the next one follows"),
    Parameter::new(
        "servers",
        "1",
        "I/O servers, of which the first is the metadata server, too: the last rank of as many nodes, from node 0 on. \
         All other ranks are clients. So a node of two ranks (condition `ranks`) is client and server",
    ),
    Parameter::new("nodes", "2", "number of nodes"),
    Parameter::new("capacity", "the memory of a node", "most bytes of files on each server"),
    Parameter::new(
        "sync",
        "none",
        "what is on the server's disk before it answers, in virtual time: `none`; `metadata` (changes of names, as \
         PVFS2 is set up by default); `all` (data, too, which are also read from it)",
    ),
    Parameter::new(
        "computing",
        "false",
        "in virtual time, whether the CPU time of clients and servers counts; else messages and disks alone do",
    ),
    Parameter::new(
        "inject",
        "none",
        "corrupts one write, to show that the check finds it: `data`, `stripe-order` or `lost-write`",
    ),
]]);

/// The most files of a client, and bytes of a transfer.
const MOST_FILES: u64 = 1_000_000;
const LARGEST_TRANSFER: u64 = 1 << 30;

/// A test of names and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metadata {
    /// Make files.
    Create,
    /// Get their sizes.
    Stat,
    /// List the directory.
    List,
    /// Rename files.
    Rename,
    /// Remove files.
    Remove,
}

/// A test of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Write files.
    Write,
    /// Read files.
    Read,
}

/// How data are written or read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfers {
    /// Whether all clients use one file.
    pub shared: bool,
    /// Whether a client's transfers come in random order.
    pub random: bool,
    /// Bytes of each client.
    pub block: u64,
    /// Bytes of one call, a divisor of `block`.
    pub transfer: u64,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Names and attributes, of so many files of each client.
    Metadata(Metadata, u64),
    /// Data, and what one write is corrupted by.
    Data(Direction, Transfers, Option<Corruption>),
}

/// A test, and what it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// What is timed.
    pub test: Test,
    /// Nodes.
    pub nodes: usize,
    /// Servers.
    pub servers: usize,
    /// Bytes of a stripe.
    pub stripe: u64,
    /// The most bytes of files on a server, if it is not the memory of a node.
    pub capacity: Option<u64>,
    /// What is on disk before a server answers.
    pub sync: Sync,
    /// Whether CPU time counts.
    pub computing: bool,
}

impl Spec {
    /// Reads and checks the workload's parameters.
    ///
    /// # Errors
    /// A usage fault that names the parameter.
    pub fn from_params(params: &Params) -> Result<Self, Fault> {
        params.refuse_unknown(PARAMETERS)?;
        let stripe = params.size("stripe", Bytes(64 << 10))?.0;
        let inject = match choice(params, "inject", &["none", "data", "stripe-order", "lost-write"])? {
            "data" => Some(Corruption::Data),
            "stripe-order" => Some(Corruption::StripeOrder),
            "lost-write" => Some(Corruption::LostWrite),
            _ => None,
        };
        let tests = ["write", "read", "create", "stat", "list", "rename", "remove"];
        let metadata = |test| -> Result<Test, Fault> {
            let files = params.bounded("files", 100, 1, MOST_FILES)?;
            match inject {
                None => Ok(Test::Metadata(test, files)),
                Some(_) => Err(Fault::usage("only writes of data are corrupted")
                    .of_parameter("inject")
                    .remedy("take test = \"write\" or \"read\", or leave `inject` out")),
            }
        };
        let data = |direction| Ok(Test::Data(direction, transfers(params, stripe, inject)?, inject));
        let test = match choice(params, "test", &tests)? {
            "create" => metadata(Metadata::Create),
            "stat" => metadata(Metadata::Stat),
            "list" => metadata(Metadata::List),
            "rename" => metadata(Metadata::Rename),
            "remove" => metadata(Metadata::Remove),
            "read" => data(Direction::Read),
            _ => data(Direction::Write),
        }?;
        let nodes = params.bounded("nodes", 2, 1, 4096)? as usize;
        let servers = params.bounded("servers", 1, 1, 4096)? as usize;
        let sync = match choice(params, "sync", &["none", "metadata", "all"])? {
            "metadata" => Sync::Metadata,
            "all" => Sync::All,
            _ => Sync::None,
        };
        Ok(Spec {
            test,
            nodes,
            servers,
            stripe,
            capacity: params
                .get("capacity")
                .map(|_| params.size("capacity", Bytes(1)))
                .transpose()?
                .map(|size| size.0),
            sync,
            computing: params.flag("computing", false)?,
        })
    }

    /// What servers have in common, each of which holds at most `memory` bytes by default.
    pub fn site(&self, memory: u64) -> Site {
        let capacity = self.capacity.unwrap_or(memory);
        Site { servers: self.servers, stripe: self.stripe, capacity, sync: self.sync }
    }
}

fn choice<'p>(params: &'p Params, name: &str, choices: &[&'p str]) -> Result<&'p str, Fault> {
    params.choice(name, choices).map_err(|fault| fault.of_parameter(name))
}

fn transfers(params: &Params, stripe: u64, inject: Option<Corruption>) -> Result<Transfers, Fault> {
    let block = params.size("block", Bytes(1 << 20))?.0;
    let transfer = params.size("transfer", Bytes(256 << 10))?.0;
    if transfer > LARGEST_TRANSFER {
        return Err(Fault::usage(format!("expected at most 1 GiB, found {transfer} bytes"))
            .of_parameter("transfer")
            .remedy("write more transfers: `block` may be larger"));
    }
    if !block.is_multiple_of(transfer) {
        return Err(Fault::usage(format!(
            "expected a multiple of `transfer`, which is {transfer} bytes, found {block} bytes"
        ))
        .of_parameter("block")
        .remedy("change `block` or `transfer`"));
    }
    if inject == Some(Corruption::StripeOrder) && !(transfer.is_multiple_of(stripe) && transfer / stripe >= 2)
    {
        return Err(Fault::usage(format!(
            "`stripe-order` exchanges two stripes of a transfer, which has {transfer} bytes, a stripe {stripe}"
        ))
        .of_parameter("inject")
        .remedy("let `transfer` be two stripes or more, in whole ones"));
    }
    let random = choice(params, "access", &["sequential", "random"])? == "random";
    let shared = choice(params, "layout", &["shared", "file-per-process"])? == "shared";
    Ok(Transfers { shared, random, block, transfer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosstalk_core::value::Value;

    fn read(all: &[(&str, Value)]) -> Result<Spec, Fault> {
        let params =
            all.iter().fold(Params::default(), |params, (name, value)| params.with(name, value.clone()));
        Spec::from_params(&params)
    }

    #[test]
    fn defaults_are_those_of_ior() {
        let spec = read(&[]).expect("reads");
        let transfers = Transfers { shared: true, random: false, block: 1 << 20, transfer: 256 << 10 };
        assert_eq!(spec.test, Test::Data(Direction::Write, transfers, None));
        assert_eq!((spec.nodes, spec.servers, spec.stripe, spec.sync), (2, 1, 64 << 10, Sync::None));
    }

    #[test]
    fn parameters_of_other_tests_make_no_difference() {
        let stat = |files: i64, block: &str| {
            read(&[("test", "stat".into()), ("files", files.into()), ("block", block.into())]).expect("reads")
        };
        assert_eq!(stat(10, "1 MiB"), stat(10, "2 MiB"));
        assert_ne!(stat(10, "1 MiB"), stat(11, "1 MiB"));
    }

    #[test]
    fn invalid_values_are_named() {
        type Pairs<'p> = &'p [(&'p str, Value)];
        let cases: [(Pairs, &str, &str); 9] = [
            (&[("test", "sstat".into())], "test", "`stat`"),
            (&[("block", "100 KiB".into())], "block", "a multiple of `transfer`"),
            (&[("transfer", "2 GiB".into()), ("block", "2 GiB".into())], "transfer", "at most 1 GiB"),
            (&[("servers", 0.into())], "servers", "at least 1"),
            (&[("stripe", 0.into())], "stripe", "above zero"),
            (&[("capacity", (-1).into())], "capacity", "above zero"),
            (&[("inject", "data".into()), ("test", "list".into())], "inject", "only writes of data"),
            (&[("inject", "stripe-order".into()), ("transfer", "64 KiB".into())], "inject", "two stripes"),
            (&[("inject", "stripe-order".into()), ("stripe", "100 KiB".into())], "inject", "two stripes"),
        ];
        for (params, name, why) in cases {
            let fault = read(params).expect_err("is refused");
            assert!(fault.to_string().contains(why), "{params:?}: {fault}");
            assert_eq!(fault.parameter.as_deref(), Some(name), "{fault}");
        }
    }
}
