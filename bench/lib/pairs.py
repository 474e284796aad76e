"""Pairs of runs, one of ours and one of the peer's in random order, right after
each other, so that whatever else the machine does meets both.
"""

import random
import sys


def interleaved(ours, theirs, pairs, seed):
    """Runs `pairs` pairs in random order; a list of (ours, theirs)."""
    if pairs < 6:
        sys.exit(f"an interval of 95 % needs 6 pairs, found {pairs}")
    order = random.Random(seed)
    results = []
    for index in range(pairs):
        sides = [(0, ours), (1, theirs)]
        order.shuffle(sides)
        pair = [None, None]
        for side, measure in sides:
            pair[side] = measure()
        results.append(tuple(pair))
        if sys.stderr.isatty():
            print(f"\r  pair {index + 1} of {pairs}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results
