"""Two of our ranks on a wire, a processor each, which call an MPI function in a loop."""

import subprocess
import sys
from dataclasses import dataclass

from lib.wire import ROOT, cargo

RANK = ROOT / "target" / "release" / "examples" / "collective_rank"
PORT = 24310


def build():
    cargo("build", "--package", "crosstalk-probe", "--example", "collective_rank")


@dataclass
class Timed:
    """Size -> seconds: of a call, by loops; and of the median call, where each has a time."""

    times: dict
    medians: dict


def run(wire, function, sizes, seconds):
    """What the ranks have measured, `seconds` for each size."""
    endpoints = ",".join(f"{address}:{PORT}" for address in wire.addresses)
    size = ",".join(f"{size} B" for size in sizes)
    words = [endpoints, f"function={function}", f"size={size}", "nodes=2", f"duration={seconds} s", "begin=in-turn"]
    start = lambda rank: subprocess.Popen(
        wire.command(rank, rank, [RANK, rank, *words]), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    ranks = [start(0), start(1)]
    try:
        for rank in ranks:
            rank.stdout.readline()
        for rank in ranks:
            rank.stdin.write("go\n")
            rank.stdin.flush()
        text = ranks[0].communicate(timeout=120)[0]
        if any(rank.wait(timeout=30) != 0 for rank in ranks):
            sys.exit(f"our ranks ended with {[rank.returncode for rank in ranks]}")
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    medians = "\n".join(line.removeprefix("p50 ") for line in text.splitlines() if line.startswith("p50 "))
    return Timed(times(text), times(medians))


def times(text):
    """Size -> seconds, of lines `SIZE SECONDS`."""
    rows = (line.split() for line in text.splitlines())
    return {int(row[0]): float(row[1]) for row in rows if len(row) == 2 and row[0].isdigit()}
