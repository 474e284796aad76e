#!/usr/bin/env python3
"""A message of message passing beside a bare socket: two ranks' ping-pong and `crosstalk probe latency --poll`, whose
client and server read and write a TCP socket and do nothing else. Same wire, same processors, interleaved pairs.

A ratio is the ranks' median round trip over the socket's: what is above 1 is the price of ranks (headers, matching,
looking after other connections).
"""

import argparse

from lib import ours, ranks
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import Server, Wire, output

SIZES = "8,1024,65536,1048576"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--sizes", default=SIZES)
    options = parser.parse_args()
    ours.build()
    ranks.build()
    wire = Wire()
    part = options.sizes != SIZES or options.pairs < 12
    figures = Figures("messages", part=part, wire=wire.kind, seconds=options.seconds)
    for size in [int(size) for size in options.sizes.split(",")]:
        of_ranks = lambda: 2 * ranks.run(wire, "pingpong", [size], options.seconds).medians[size]
        pairs = interleaved(of_ranks, lambda: socket(wire, size, options.seconds), options.pairs, size)
        figures.pairs("a bare socket", f"round trip of {size} B", pairs)
    figures.finish()


def socket(wire, size, seconds):
    """The median round trip of a bare socket, in seconds."""
    address = f"{wire.addresses[1]}:{ours.free_port()}"
    client = ours.measure("latency", address, size, seconds, "--poll")
    with Server(wire.command(1, "1", ours.serve("latency", address)), ours.settle):
        found = ours.readings(output(wire.command(0, "0", client), seconds + 30))
    return found["round_trip_p50"]


if __name__ == "__main__":
    main()
