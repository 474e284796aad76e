"""Groupings of users, as `crosstalk groups tune` writes them: whether two are the same, how much their makespans spread,
and how many pairs compare two of them.
"""

import math
from statistics import NormalDist, fmean

#: Limits that differ by this share at most are about the same, as in the grid itself.
NEAR = 0.1
#: The signed-rank test needs the pairs of the t-test over this (Hodges and Lehmann 1956, for normal data).
EFFICIENCY = 3 / math.pi
NORMAL = NormalDist()


def difference(ours, theirs):
    """By which share the limits of two lists of groups differ at most; None unless the same users are together, and
    the same groups limited."""
    limits = lambda groups: {tuple(sorted(group["users"])): group["memory_limit"] for group in groups}
    ours, theirs = limits(ours), limits(theirs)
    if ours.keys() != theirs.keys() or any((ours[key] is None) != (theirs[key] is None) for key in ours):
        return None
    shares = [abs(ours[key] - theirs[key]) / ours[key] for key in ours if ours[key] is not None]
    return max(shares, default=0.0)


def is_other(one, other):
    """Whether two groupings are not about the same groups."""
    differs = difference(one["groups"], other["groups"])
    return differs is None or differs > NEAR


def by_block(runs):
    """The makespans of each block, by grouping; without one that was killed or cut off."""
    blocks = {}
    for run in runs:
        block = blocks.setdefault(run["block"], {})
        if run["makespan"] is not None:
            block[run["grouping"]] = run["makespan"]
    return list(blocks.values())


def residual_spread(rows):
    """The standard deviation of what is left of rows (groupings) of values (blocks) without the means of both."""
    columns, whole = [fmean(column) for column in zip(*rows)], fmean(map(fmean, rows))
    squares = sum((value - fmean(row) - columns[at] + whole) ** 2 for row in rows for at, value in enumerate(row))
    return math.sqrt(squares / ((len(rows) - 1) * (len(columns) - 1)))


def pairs_needed(spread, margin, power):
    """How many pairs of equals have, with this probability, an interval of 95 % whose upper end is below `margin`. A
    run's logarithm spreads by `spread`."""
    both = NORMAL.inv_cdf(0.975) + NORMAL.inv_cdf(power)
    return math.ceil((both * math.sqrt(2) * spread / math.log(margin)) ** 2 / EFFICIENCY)


def half_width(spread, pairs):
    """Half of the interval of so many pairs."""
    return NORMAL.inv_cdf(0.975) * math.sqrt(2 / (EFFICIENCY * pairs)) * spread
