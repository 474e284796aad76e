"""Blocks of arms: the same foreground work alone, and beside background work that is held in one way or
another. Each arm comes once a block, in random order, so that whatever else the machine does meets all.
"""

import math
import random
import sys
import time
from typing import NamedTuple

from lib.comparison import Interval, Point, compare
from lib.signed_rank import middle, ratio


class Run(NamedTuple):
    """One arm in one block."""

    #: What the foreground returned: seconds, unless its load says otherwise.
    foreground: object
    #: Background work per wall second meanwhile.
    background: float = 0.0
    #: The guard's CPU time, in processors.
    cost: float = 0.0


def interleaved(arms, blocks, seed):
    """Runs `blocks` blocks of arms (name -> what measures a `Run`): a list of name -> `Run`."""
    order, results = random.Random(seed), []
    for number in range(blocks):
        results.append({name: arms[name]() for name in order.sample(list(arms), len(arms))})
        if sys.stderr.isatty():
            print(f"\r  block {number + 1} of {blocks}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return results


def alone(foreground):
    """Measures the foreground alone."""
    return lambda: Run(foreground())


def beside(begins, foreground):
    """Measures the foreground beside the `Background` that `begins` yields."""

    def measure():
        with begins() as background:
            used, began = background.used(), time.monotonic()
            returned = foreground()
            rate = (background.used() - used) / (time.monotonic() - began)
        # The guard's sums are there once it has ended.
        return Run(returned, rate, background.cost())

    return measure


def measured(name, foreground, ways, options):
    """Blocks of the foreground alone and beside background work in each way (name -> what begins it)."""
    arms = {"alone": alone(foreground), **{way: beside(begins, foreground) for way, begins in ways.items()}}
    return interleaved(arms, options.pairs, f"{options.seed} {name}")


def slowed(figures, metric, foreground, ways, slowdown, options, unit="processors"):
    """The foreground's time under guard over that alone, which is what the guard promises; and a row of
    the table. `ways` begin `exec` and `guard`; `unit` is that of background work per wall second."""
    blocks = measured(metric, foreground, ways, options)
    promised(figures, metric, blocks, slowdown)
    row(figures, metric, blocks, unit=unit)


def promised(figures, metric, blocks, slowdown):
    """What the guard promises: the foreground's time under it over that alone."""
    pairs = [(block["guard"].foreground, block["alone"].foreground) for block in blocks]
    figures.pairs("alone", metric, pairs, agreed=slowdown, cost=max(block["guard"].cost for block in blocks))


def row(figures, metric, blocks, seconds=lambda foreground: foreground, unit="processors"):
    """A row of the table: exec and guard over alone, and the guard over exec. `seconds` makes a time of
    what the foreground returned."""
    time_ = lambda block, arm: seconds(block[arm].foreground)
    point = lambda block, arm: Point(time_(block, arm), block[arm].background)
    compared = compare([(time_(block, "alone"), point(block, "exec"), point(block, "guard")) for block in blocks])
    over_alone = lambda arm: Interval(*ratio([(time_(block, arm), time_(block, "alone")) for block in blocks]))
    left = lambda arm: middle(sorted(block[arm].background for block in blocks))
    more = {
        "load": metric,
        "exec": written(over_alone("exec")), "guard": written(over_alone("guard")),
        "background_unit": unit, "background_exec": left("exec"), "background_guard": left("guard"),
        "background": written(compared.background), "equal": written(compared.equal), "beats": compared.beats(),
    }
    what = f"{metric}: the foreground's speed with the guard / with exec alone"
    value, low, high = compared.speed
    figures.add(f"{metric}: guard / exec", value, "ratio", low, high, len(blocks), what, **more)


def written(interval):
    """As JSON has it: an interval without an end has none."""
    low, high = (None, None) if math.isinf(interval.high) else interval[1:]
    return {"value": interval.value, "low": low, "high": high}
