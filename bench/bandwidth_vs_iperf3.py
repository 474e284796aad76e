#!/usr/bin/env python3
"""A TCP stream of 64 KiB writes beside iperf3: same wire, same processors,
interleaved pairs.

Both count at the receiver, over the whole run: iperf3 leaves nothing out, so
our figure here is the mean of all intervals, warm-up included. Both use the same
congestion control: what the system prefers may be one (BBR) under which a stream's
rate depends on how its program writes, and not on the wire.
"""

import argparse
import json
import statistics

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZE = 65536


def main():
    options = arguments()
    ours.build()
    wire = Wire()
    print(f"tcp, writes of {SIZE} B, over {wire.kind}, processors {options.pin}, {options.congestion}")
    bench = Bench(wire, options)
    pairs = interleaved(bench.ours, bench.iperf3, options.pairs, options.seed)
    figures = Figures(
        "bandwidth_vs_iperf3",
        wire=wire.kind,
        size=SIZE,
        seconds=options.seconds,
        pin=options.pin,
        congestion=options.congestion,
    )
    again = ", ".join(f"{statistics.median(seen):.0f} by {whose}" for whose, seen in bench.again.items())
    print(f"segments sent again, median of the runs: {again}")
    figures.pairs("iperf3", "bandwidth tcp", pairs)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument("--pin", default="0,1", help="processors of client and server, or none")
    parser.add_argument("--congestion", default="reno", help="control of both senders")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Bench:
    """Each side returns bits a second received."""

    def __init__(self, wire, options):
        self.wire, self.seconds, self.congestion = wire, options.seconds, options.congestion
        self.again = {"ours": [], "iperf3": []}
        self.cpus = [None, None] if options.pin == "none" else options.pin.split(",")

    def run(self, server, client):
        server = self.wire.command(1, self.cpus[1], server)
        with Server(server, ours.settle):
            return output(self.wire.command(0, self.cpus[0], client), self.seconds + 30)

    def ours(self):
        address = f"{self.wire.addresses[1]}:{ours.free_port()}"
        client = ours.measure("bandwidth", address, SIZE, self.seconds, "--congestion", self.congestion)
        found = ours.readings(self.run(ours.serve("bandwidth", address), client))
        self.again["ours"].append(found["retransmitted"])
        series = found["bandwidth_series"]
        return sum(series) / len(series)

    def iperf3(self):
        address, port = self.wire.addresses[1], ours.free_port()
        client = ["iperf3", "-c", address, "-p", port, "-l", SIZE, "-t", self.seconds, "-J"]
        client += ["-C", self.congestion]
        text = self.run(["iperf3", "-s", "-1", "-B", address, "-p", port], client)
        end = json.loads(text)["end"]
        self.again["iperf3"].append(end["sum_sent"]["retransmits"])
        return end["sum_received"]["bits_per_second"]


if __name__ == "__main__":
    main()
