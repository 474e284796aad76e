#!/usr/bin/env python3
"""A TCP stream of 64 KiB writes beside iperf3: same wire, same processors,
interleaved pairs.

Both count at the receiver, over the whole run: iperf3 leaves nothing out, so
our figure here is the mean of all intervals, warm-up included.
"""

import argparse
import json

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZE = 65536


def main():
    options = arguments()
    ours.build()
    wire = Wire()
    print(f"tcp, writes of {SIZE} B, over {wire.kind}, processors {options.pin}")
    bench = Bench(wire, options)
    pairs = interleaved(bench.ours, bench.iperf3, options.pairs, options.seed)
    figures = Figures("bandwidth_vs_iperf3", wire=wire.kind, size=SIZE, seconds=options.seconds, pin=options.pin)
    figures.pairs("iperf3", "bandwidth tcp", pairs)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=int, default=2, help="of each run")
    parser.add_argument("--pin", default="0,1", help="processors of client and server, or none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Bench:
    """Each side returns bits a second received."""

    def __init__(self, wire, options):
        self.wire, self.seconds = wire, options.seconds
        self.cpus = [None, None] if options.pin == "none" else options.pin.split(",")

    def run(self, server, client):
        server = self.wire.command(1, self.cpus[1], server)
        with Server(server, ours.settle):
            return output(self.wire.command(0, self.cpus[0], client), self.seconds + 30)

    def ours(self):
        address = f"{self.wire.addresses[1]}:{ours.free_port()}"
        client = ours.measure("bandwidth", address, SIZE, self.seconds)
        series = ours.readings(self.run(ours.serve("bandwidth", address), client))["bandwidth_series"]
        return sum(series) / len(series)

    def iperf3(self):
        address, port = self.wire.addresses[1], ours.free_port()
        client = ["iperf3", "-c", address, "-p", port, "-l", SIZE, "-t", self.seconds, "-J"]
        text = self.run(["iperf3", "-s", "-1", "-B", address, "-p", port], client)
        return json.loads(text)["end"]["sum_received"]["bits_per_second"]


if __name__ == "__main__":
    main()
