//! Options of the instruments.

use clap::{Args, Subcommand};

use super::ExportArgs;

#[derive(Args)]
pub struct ProbeArgs {
    #[command(subcommand)]
    pub kind: Probe,
}

/// The instruments.
#[derive(Subcommand)]
pub enum Probe {
    /// Round trip and half round trip of single messages, against their size.
    #[command(after_help = "Examples:
  crosstalk probe latency -l '64 B,4 KiB' --poll
  crosstalk probe latency --listen            on one host …
  crosstalk probe latency --to 10.0.0.2 -t 5  … and on the other")]
    Latency(LatencyArgs),
    /// Round trip of messages while others are on their way, against how many a second; without a
    /// rate the saturation is found.
    #[command(after_help = "Examples:
  crosstalk probe load
  crosstalk probe load --transport udp -r 1000,20000,50000")]
    Load(LoadArgs),
    /// A stream's rate.
    #[command(after_help = "Examples:
  crosstalk probe bandwidth --transport udp -l '1400 B' -b 1G
  crosstalk probe bandwidth --listen                      on one host …
  crosstalk probe bandwidth --to 10.0.0.2 -t 10 -i 1 -P 4  … and on the other
  crosstalk probe bandwidth --to 10.0.0.2 -R -C reno       from there to here, under Reno")]
    Bandwidth(BandwidthArgs),
    /// How long a load takes, against how much memory it is one of.
    #[command(after_help = "Example:\n  crosstalk probe memory --set size='32 KiB,1 MiB,64 MiB'")]
    Memory(MachineArgs),
    /// How long a core takes to hand a cache line to another, for every pair.
    #[command(after_help = "Example:\n  crosstalk probe cores --set cpus=0,1")]
    Cores(MachineArgs),
    /// What a system call, a timer, a wake-up and a taken core cost.
    #[command(after_help = "Example:\n  crosstalk probe kernel")]
    Kernel(MachineArgs),
    /// How long the processor waits for each PCI Express device.
    #[command(after_help = "Example:\n  crosstalk probe pcie --set device=0000:00:03.0")]
    Pcie(MachineArgs),
    /// One way over one wire, through the kernel's sockets and past them: every way that this host has,
    /// side by side, or the one that is set.
    #[command(after_help = "Examples:
  crosstalk probe wire                     sockets asleep and polling, AF_XDP, DPDK
  crosstalk probe wire --set mode=polling --set ends=one-thread
  crosstalk probe wire --set transport=dpdk-af-xdp --set size=1024")]
    Wire(MachineArgs),
}

#[derive(Args)]
pub struct LatencyArgs {
    /// Spin on the socket instead of sleeping in the kernel.
    #[arg(long)]
    pub poll: bool,
    /// Say where the time goes, by the kernel's tracepoints; needs root.
    #[arg(long)]
    pub stages: bool,
    #[command(flatten)]
    pub wire: WireArgs,
}

#[derive(Args)]
pub struct LoadArgs {
    /// Messages a second, such as `1000,20000` [default: shares of the saturation].
    #[arg(short, long, value_delimiter = ',')]
    pub rate: Vec<f64>,
    /// Let the serving end spin instead of sleeping in the kernel.
    #[arg(long)]
    pub poll: bool,
    #[command(flatten)]
    pub wire: WireArgs,
}

#[derive(Args)]
pub struct BandwidthArgs {
    /// Send so many streams side by side, each with a thread at either end.
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, allow_negative_numbers = true)]
    pub parallel: u64,
    /// Let the serving end send, and this one receive.
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// Send each stream at this rate, such as `100 Mbit/s` or `100M` [default: as fast as it goes].
    #[arg(short = 'b', long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Print what came every so often, while it goes on; at least 0.1 s.
    #[arg(short = 'i', long, value_name = "TIME")]
    pub interval: Option<String>,
    /// Have the sending end's kernel control congestion this way, such as `reno` [default: the system's].
    #[arg(short = 'C', long, value_name = "NAME")]
    pub congestion: Option<String>,
    #[command(flatten)]
    pub wire: WireArgs,
}

/// Between two ends.
#[derive(Args)]
pub struct WireArgs {
    /// Measure against a host that listens there [default port: 7700].
    #[arg(long, value_name = "HOST[:PORT]", conflicts_with_all = ["listen", "fabric"])]
    pub to: Option<String>,
    /// Serve other ends, one at a time, until interrupted [default: all addresses, port 7700].
    #[arg(long, value_name = "ADDR[:PORT]", num_args = 0..=1, default_missing_value = "[::]")]
    pub listen: Option<String>,
    /// `tcp`, `io-uring` (TCP through it), `udp`; between two ends on one host `unix` (a socket), `pipe` or `shared` (memory).
    #[arg(long, default_value = "tcp")]
    pub transport: String,
    /// Message sizes, such as `64 B` or `64 B,4 KiB`.
    #[arg(short = 'l', long, value_delimiter = ',')]
    pub size: Vec<String>,
    /// Pin the ends to these CPUs, such as `0,1`.
    #[arg(long, value_delimiter = ',')]
    pub pin: Vec<usize>,
    /// How long to measure each size.
    #[arg(short, long, default_value = "1 s")]
    pub time: String,
    /// Hold the link between the two virtual nodes to this fabric's rate.
    #[arg(long, default_value = "none")]
    pub fabric: String,
    /// Hold the link to the fabric's rate over this, for a rate that this machine cannot hold.
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with_all = ["to", "listen"])]
    pub scale: Option<f64>,
    #[command(flatten)]
    pub settings: SetArgs,
    #[command(flatten)]
    pub export: ExportArgs,
}

/// Of this machine.
#[derive(Args)]
pub struct MachineArgs {
    #[command(flatten)]
    pub settings: SetArgs,
    #[command(flatten)]
    pub export: ExportArgs,
}

/// Parameters of an instrument by their names.
#[derive(Args)]
pub struct SetArgs {
    /// Change a parameter; `crosstalk show workloads/KIND` shows which there are.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}
