#!/usr/bin/env python3
"""Round trip of 64 B messages beside sockperf's ping-pong: same wire, same
mode, same processors, interleaved pairs.

sockperf reports half round trips unless asked for `--full-rtt`; it is asked.
`--nonblocked` is its polling. Both leave out their own warm-up.
"""

import argparse
import re
import sys

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZE = 64


def main():
    options = arguments()
    ours.build()
    wire = Wire()
    figures = Figures("latency_vs_sockperf", wire=wire.kind, size=SIZE, seconds=options.seconds, pin=options.pin)
    for transport in options.transport.split(","):
        for mode in options.mode.split(","):
            print(f"{transport}, {mode}, {SIZE} B, over {wire.kind}, processors {options.pin}")
            bench = Bench(wire, transport, mode, options)
            pairs = interleaved(bench.ours, bench.sockperf, options.pairs, options.seed)
            for index, quantile in enumerate(["p50", "p99"]):
                metric = f"round_trip_{quantile} {transport} {mode}"
                # Ours states no percentile from too few messages: such a pair does not count.
                values = [(mine[index], theirs[index]) for mine, theirs in pairs if mine[index] is not None]
                if values:
                    figures.pairs("sockperf", metric, values)
                else:
                    figures.missing(metric, "too few messages for this percentile in every pair")
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=1, help="of each run")
    parser.add_argument("--transport", default="tcp,udp")
    parser.add_argument("--mode", default="blocking,polling")
    parser.add_argument("--pin", default="0,1", help="processors of client and server, or none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Bench:
    """One transport and mode; each side returns its (p50, p99) in seconds."""

    def __init__(self, wire, transport, mode, options):
        self.wire, self.transport, self.mode, self.seconds = wire, transport, mode, options.seconds
        self.cpus = [None, None] if options.pin == "none" else options.pin.split(",")

    def run(self, server, client):
        server = self.wire.command(1, self.cpus[1], server)
        with Server(server, ours.settle):
            return output(self.wire.command(0, self.cpus[0], client), self.seconds + 30)

    def ours(self):
        address = f"{self.wire.addresses[1]}:{ours.free_port()}"
        options = ["--transport", self.transport] + (["--poll"] if self.mode == "polling" else [])
        client = ours.measure("latency", address, SIZE, self.seconds, *options)
        found = ours.readings(self.run(ours.serve("latency", address), client))
        return found.get("round_trip_p50"), found.get("round_trip_p99")

    def sockperf(self):
        common = ["-i", self.wire.addresses[1], "-p", ours.free_port()]
        common += ["--tcp"] if self.transport == "tcp" else []
        common += ["--nonblocked"] if self.mode == "polling" else []
        client = ["sockperf", "ping-pong", *common, "-m", SIZE, "-t", self.seconds, "--full-rtt"]
        text = self.run(["sockperf", "server", *common], client)
        return tuple(self.percentile(text, which) for which in ("50.000", "99.000"))

    @staticmethod
    def percentile(text, which):
        found = re.search(rf"percentile {which} =\s*([0-9.]+)", text)
        if not found:
            sys.exit(f"sockperf printed no percentile {which}:\n{text}")
        return float(found[1]) * 1e-6


if __name__ == "__main__":
    main()
