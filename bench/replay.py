#!/usr/bin/env python3
"""How fast recorded schedules are replayed, and in how much memory: five patterns of up to 1,024 ranks.

Times are the fastest of five replays in one process. Memory is the process's peak less that of the same process with
the smallest schedule; a plot of it against the number of operations goes to bench/results/replay_memory.svg.
"""

import argparse
import json
import math
import subprocess

from lib.figures import RESULTS, Figures
from lib.wire import ROOT, cargo

PROGRAM = ROOT / "target" / "release" / "examples" / "replay_speed"
PATTERNS = ["pairwise all-to-all", "linear all-to-all by requests", "ring", "incast from any", "unexpected, in reverse"]
RANKS = [64, 128, 256, 512, 1024]


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    cargo("build", "--package", "crosstalk-model", "--example", "replay_speed")
    figures = Figures("replay")
    rows = {pattern: [row(pattern, ranks) for ranks in RANKS] for pattern in PATTERNS}
    largest = rows[PATTERNS[0]][-1]
    figures.add("pairwise all-to-all, 1,024 ranks: time", largest["seconds"], "s", n=1)
    slowest = min((one for all in rows.values() for one in all), key=rate)
    of = f"{slowest['pattern']}, {slowest['ranks']} ranks"
    figures.add("slowest pattern: messages a second", rate(slowest), "/s", n=1, of=of)
    for pattern, all in rows.items():
        # From a quarter of the operations to all: an exponent of 1 is linear.
        few, many = all[-3], all[-1]
        used = lambda one: max(one["peak_bytes"] - all[0]["peak_bytes"], 1)
        exponent = math.log(used(many) / used(few)) / math.log(work(many) / work(few))
        figures.add(f"{pattern}: exponent of memory", exponent, "", n=2, bytes_each=used(many) / work(many))
    (RESULTS / "replay_memory.svg").write_text(plot(rows))
    figures.finish()


def row(pattern, ranks):
    """One pattern and size, in a process of its own, so that its peak is its own."""
    done = subprocess.run([PROGRAM, pattern, str(ranks)], capture_output=True, text=True, check=True, timeout=300)
    return json.loads(done.stdout)


def work(one):
    """Operations, and messages of collectives, which are one operation a rank."""
    return max(one["operations"], one["messages"])


def rate(one):
    return one["messages"] / one["seconds"]


def plot(rows):
    """Memory against operations, both logarithmic, with a line of slope one."""
    points = {name: [(work(one), one["peak_bytes"]) for one in all] for name, all in rows.items()}
    every = [point for all in points.values() for point in all]
    low_x, high_x = math.floor(math.log10(min(x for x, _ in every))), math.ceil(math.log10(max(x for x, _ in every)))
    low_y, high_y = math.floor(math.log10(min(y for _, y in every))), math.ceil(math.log10(max(y for _, y in every)))
    left, top, width, height = 70, 20, 420, 300
    at_x = lambda x: left + (math.log10(x) - low_x) / (high_x - low_x) * width
    at_y = lambda y: top + height - (math.log10(y) - low_y) / (high_y - low_y) * height
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 240}" height="{top + height + 60}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#999"/>',
    ]
    for power in range(low_x, high_x + 1):
        parts.append(f'<text x="{at_x(10**power)}" y="{top + height + 18}" text-anchor="middle">{si(10**power)}</text>')
    for power in range(low_y, high_y + 1):
        parts.append(f'<text x="{left - 8}" y="{at_y(10**power) + 4}" text-anchor="end">{si(10**power)}B</text>')
    for index, (name, all) in enumerate(points.items()):
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in all)
        colour = colours[index % len(colours)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + width + 10}" y="{top + 16 + 18 * index}" fill="{colour}">{name}</text>')
    first = min(every)
    steep = [(x, first[1] * x / first[0]) for x in (first[0], 10**high_x)]
    line = " ".join(f"{at_x(x):.1f},{max(at_y(y), top):.1f}" for x, y in steep)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#999" stroke-dasharray="4 4"/>')
    parts.append(f'<text x="{left + width / 2}" y="{top + height + 40}" text-anchor="middle">operations</text>')
    parts.append(f'<text x="{left + width + 10}" y="{top + height}" fill="#777">dashed: in proportion</text></svg>\n')
    return "\n".join(parts)


def si(number):
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= factor:
            return f"{number / factor:g} {unit}"
    return f"{number:g} "


if __name__ == "__main__":
    main()
