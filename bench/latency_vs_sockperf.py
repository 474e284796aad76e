#!/usr/bin/env python3
"""Round trip of 64 B messages beside sockperf's ping-pong: same wire, same
mode, same processors, interleaved pairs.

sockperf reports half round trips unless asked for `--full-rtt`; it is asked.
`--nonblocked` is its polling. Both leave out their own warm-up.

Unix sockets (streams) are known to sockperf 3.8 and later; where the system has an older one,
build it from its source (github.com/Mellanox/sockperf) and name it: SOCKPERF=/path/to/sockperf.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZE = 64
SOCKPERF = os.environ.get("SOCKPERF", "sockperf")
#: Which transports are measured where nothing else is said.
TRANSPORTS = "tcp,udp,unix"
MODES = "blocking,polling"


def main():
    options = arguments()
    ours.build()
    wire = Wire()
    part = (options.transport, options.mode) != (TRANSPORTS, MODES)
    version = subprocess.run([SOCKPERF, "--version"], capture_output=True, text=True).stdout.split("version ")[1].split()[0]
    figures = Figures(
        "latency_vs_sockperf", part, wire=wire.kind, size=SIZE, seconds=options.seconds, pin=options.pin,
        sockperf=version,
    )
    for transport in options.transport.split(","):
        for mode in options.mode.split(","):
            if transport == "unix" and not knows_unix():
                for quantile in ("p50", "p99"):
                    figures.missing(f"round_trip_{quantile} unix {mode}", f"sockperf {version} knows no Unix sockets")
                continue
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
    parser.add_argument("--transport", default=TRANSPORTS)
    parser.add_argument("--mode", default=MODES)
    parser.add_argument("--pin", default="0,1", help="processors of client and server, or none")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def knows_unix():
    return "UNIX" in subprocess.run([SOCKPERF, "server", "--help"], capture_output=True, text=True).stdout


class Bench:
    """One transport and mode; each side returns its (p50, p99) in seconds."""

    def __init__(self, wire, transport, mode, options):
        self.wire, self.transport, self.mode, self.seconds = wire, transport, mode, options.seconds
        self.cpus = [None, None] if options.pin == "none" else options.pin.split(",")

    def run(self, server, client):
        # Unix sockets join two ends on one host.
        here = 1 if self.transport == "unix" else 0
        server = self.wire.command(1, self.cpus[1], server)
        with Server(server, ours.settle):
            return output(self.wire.command(here, self.cpus[0], client), self.seconds + 30)

    def ours(self):
        address = f"{self.wire.addresses[1]}:{ours.free_port()}"
        options = ["--transport", self.transport] + (["--poll"] if self.mode == "polling" else [])
        client = ours.measure("latency", address, SIZE, self.seconds, *options)
        found = ours.readings(self.run(ours.serve("latency", address), client))
        return found.get("round_trip_p50"), found.get("round_trip_p99")

    def sockperf(self):
        if self.transport == "unix":
            with tempfile.TemporaryDirectory() as folder:
                return self.ping_pong(["-i", f"{folder}/socket", "--tcp"])
        tcp = ["--tcp"] if self.transport == "tcp" else []
        return self.ping_pong(["-i", self.wire.addresses[1], "-p", ours.free_port(), *tcp])

    def ping_pong(self, common):
        common += ["--nonblocked"] if self.mode == "polling" else []
        client = [SOCKPERF, "ping-pong", *common, "-m", SIZE, "-t", self.seconds, "--full-rtt"]
        text = self.run([SOCKPERF, "server", *common], client)
        return tuple(self.percentile(text, which) for which in ("50.000", "99.000"))

    @staticmethod
    def percentile(text, which):
        found = re.search(rf"percentile {which} =\s*([0-9.]+)", text)
        if not found:
            sys.exit(f"sockperf printed no percentile {which}:\n{text}")
        return float(found[1]) * 1e-6


if __name__ == "__main__":
    main()
