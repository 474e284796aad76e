#!/usr/bin/env python3
"""What `crosstalk groups tune` finds beside the best of an exhaustive grid, on three mixes that were fixed beforehand.

It is run as an operator runs it. Then every grouping of the grid runs once, and the better half in more interleaved
blocks: the one whose makespans are least there is the grid's best. At last the grouping found and its *rival* run in
fresh pairs, both with exactly the groups and limits that they had. The rival is the grid's best. If that is the grouping
found (`same`: the same kinds of users together, and limits within 10 %), the rival is the best of the others: the figure
could have come out otherwise.

The number of pairs is fixed before the first of them, by the spread of the better half's blocks: so many that the
interval's upper end is below 1.05 in 90 % of all cases if both are equally good, at least 30, and no more than fit into
`--minutes`. A pair has one seed, and its order is random.

The mix `few-large` is held out: it is not run while the search is changed.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean

from lib import ours
from lib.figures import Figures
from lib.groupings import by_block, difference, half_width, is_other, kinds, pairs_needed, residual_spread
from lib.signed_rank import ratio
from lib.wire import ROOT

MIXES = {
    "streaming": ROOT / "mixes" / "streaming.mix",
    "uneven": ROOT / "mixes" / "uneven.mix",
    "few-large": ROOT / "bench" / "mixes" / "few-large.mix",
}
#: The grouping found may take so many times as long as the best.
MARGIN = 1.05
#: How often the pairs are to show that, if both are equally good.
POWER = 0.9
#: Fresh pairs: the first where fewer are needed, the second where the time is short.
USUAL, FEWEST = 30, 12


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("groups are made by root only")
    ours.build()
    part = len(options.mix) < len(MIXES)
    figures = Figures("tune", part=part, minutes=options.minutes, blocks=options.blocks, **ours.given())
    began, each = time.monotonic(), 60 * options.minutes / len(options.mix)
    print(f"plan: {len(options.mix)} mixes, at most {options.minutes:.0f} min together. For each mix: tune (54 runs at "
          f"most), every grouping once (about 30 runs), the better half in {options.blocks} blocks, and fresh pairs, "
          "whose number is printed before the first one.", flush=True)
    for number, mix in enumerate(options.mix, 1):
        measure(figures, mix, options, began + number * each)
    print(f"took {(time.monotonic() - began) / 60:.1f} min")
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mix", nargs="+", choices=MIXES, default=list(MIXES))
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--read-rate", default="200 MB")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=3, help="of the grid's better half")
    parser.add_argument("--minutes", type=float, default=40, help="for all mixes together")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def measure(figures, mix, options, end):
    """All of a mix; it ends about at `end`, of the monotonic clock."""
    found = tune(mix, options, options.seed)
    runs, verdict = len(found["runs"]), found["verdict"]
    figures.add(f"{mix}: runs of the search", runs, "count", n=1)
    if verdict is not None:
        what = f"{mix}: plain's makespan / that of {found['chosen']}, fresh pairs"
        ends = (verdict["speedup"], "ratio", verdict["low"], verdict["high"], len(verdict["pairs"]))
        figures.add(f"{mix}: speed-up", *ends, what, mix=mix)
    chosen = {"grouping": "found", "groups": found["groups"]}
    once, half, spread, seconds = grid(mix, options)
    users, best = kinds(MIXES[mix].read_text()), half[0]
    same = not is_other(chosen, best, users)
    rival = next((record for record in half if is_other(chosen, record, users)), None)
    if rival is None:
        sys.exit(f"{mix}: expected a grouping that is not about the one found, found {len(half)} like it")
    pairs = number_of_pairs(mix, spread, seconds, end - time.monotonic())
    final = compare(mix, options, options.seed + 3000, pairs, [chosen, {**rival, "grouping": "rival"}])
    blocks = by_block(final["runs"])
    if any(len(block) < 2 for block in blocks):
        sys.exit(f"{mix}: expected a makespan of both in every pair, found {final['runs']}")
    point, low, high = ratio([(block["found"], block["rival"]) for block in blocks])
    note = {
        "mix": mix, "chosen": found["chosen"], "grid_best": best["grouping"], "rival": rival["grouping"],
        "same": same, "limits_differ": difference(chosen["groups"], best["groups"], users), "spread": spread, "found": chosen["groups"],
        "rival_groups": rival["groups"], "grid_once": once,
        "grid": {record["grouping"]: record["makespan"] for record in half},
    }
    which = "the grid's best" if not same else "the best of the others: the grid's best is the one found"
    print(f"{mix}: found {found['chosen']}; the rival is {rival['grouping']}, {which}", flush=True)
    figures.add(f"{mix}: found / best of the grid", point, "ratio", low, high, len(blocks), **note)


def grid(mix, options):
    """The makespan of every grouping's first run, None if it was killed or cut off; the better half of them, the best
    first, with their mean makespans in more blocks; the spread (standard deviation) of the logarithm of such a run; and
    the seconds that it takes with all that belongs to it."""
    once = tune(mix, options, options.seed + 1000, "--exhaustive", 1)
    # The first runs, of which the needs are learnt, are not among them.
    first = {run["grouping"]: run["makespan"] for run in once["runs"] if run["block"] == 1}
    records = [record for record in once["groupings"] if first.get(record["grouping"]) is not None]
    records.sort(key=lambda record: first[record["grouping"]])
    # Two are needed for a rival, and for a spread.
    half = records[: max(3, (len(records) + 1) // 2)]
    began = time.monotonic()
    blocks = by_block(compare(mix, options, options.seed + 2000, options.blocks, half)["runs"])
    seconds = (time.monotonic() - began) / (options.blocks * len(half))
    # One that was killed or cut off is not the best.
    half = [record for record in half if all(record["grouping"] in block for block in blocks)]
    if len(half) < 3:
        sys.exit(f"{mix}: expected three groupings at least that end well, found {len(half)}")
    logs = {record["grouping"]: [math.log(block[record["grouping"]]) for block in blocks] for record in half}
    for record in half:
        record["makespan"] = math.exp(fmean(logs[record["grouping"]]))
    half.sort(key=lambda record: record["makespan"])
    return first, half, residual_spread(list(logs.values())), seconds


def number_of_pairs(mix, spread, seconds, left):
    """How many pairs of runs are made, by the spread and the time that is left; printed before the first."""
    needed = max(USUAL, pairs_needed(spread, MARGIN, POWER))
    # One more run makes the users' files.
    fitting = max(0, int((left - seconds) / (2 * seconds)))
    pairs = max(FEWEST, min(needed, fitting))
    print(f"{mix}: a run spreads by {100 * spread:.1f} %: {needed} pairs are needed, {fitting} fit into the time. Plan: "
          f"{pairs} pairs, about {pairs * 2 * seconds / 60:.1f} min, an interval of "
          f"±{100 * half_width(spread, pairs):.1f} %", flush=True)
    return pairs


def compare(mix, options, seed, blocks, records):
    """Runs groupings with exactly these groups, in interleaved blocks."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([{"grouping": record["grouping"], "groups": record["groups"]} for record in records], file)
        file.flush()
        return tune(mix, options, seed, "--exhaustive", blocks, "--groupings", file.name)


def tune(mix, options, seed, *more):
    """The result of a run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tune.json"
        command = [
            ours.CROSSTALK, "--json", "groups", "tune", "--mix", MIXES[mix], "--memory", options.memory, "--read-rate",
            options.read_rate, "--jobs", options.jobs, "--seed", seed, "--out", out, *more,
        ]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout.splitlines()[-1:]}")
        return json.loads(out.read_text())


if __name__ == "__main__":
    main()
