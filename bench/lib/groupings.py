"""Groupings of users, as `crosstalk groups tune` writes them: whether two are the same, how much their makespans spread,
and how many pairs compare two of them.
"""

import math
from statistics import NormalDist, fmean, median

#: Limits that differ by this share at most are about the same, as in the grid itself.
NEAR = 0.1
#: The signed-rank test needs the pairs of the t-test over this (Hodges and Lehmann 1956, for normal data).
EFFICIENCY = 3 / math.pi
NORMAL = NormalDist()


def kinds(text):
    """What each user does, by number, of a mix file that says `2 users stream 200%`: those who stream come first."""
    lines = [line.split("#")[0].split() for line in text.splitlines()]
    users = [" ".join(words[2:]) for words in lines if words for _ in range(int(words[0]))]
    return sorted(users, key=lambda kind: not kind.startswith("stream"))


def difference(ours, theirs, kinds):
    """By which share the limits of two lists of groups differ at most; None unless the same kinds of users are together,
    and the same groups limited. Users of one kind do the same: which of them is where makes no difference."""
    ours, theirs = limits(ours, kinds), limits(theirs, kinds)
    if [kinds for kinds, _ in ours] != [kinds for kinds, _ in theirs]:
        return None
    pairs = [(our, their) for (_, our), (_, their) in zip(ours, theirs) if our or their]
    if not all(our and their for our, their in pairs):
        return None
    return max((abs(our - their) / our for our, their in pairs), default=0.0)


def limits(groups, kinds):
    """The kinds of users of each group, and its limit, 0 if it has none; in their order."""
    return sorted((sorted(kinds[user] for user in group["users"]), group["memory_limit"] or 0) for group in groups)


def is_other(one, other, kinds):
    """Whether two groupings are not about the same groups."""
    differs = difference(one["groups"], other["groups"], kinds)
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
    """How much of rows (groupings) of values (blocks) is left without the means of both: the standard deviation of
    normal data that has their median absolute value. One run that was disturbed says little of the others, and little of
    an interval by ranks."""
    columns, whole = [fmean(column) for column in zip(*rows)], fmean(map(fmean, rows))
    left = [abs(value - fmean(row) - columns[at] + whole) for row in rows for at, value in enumerate(row)]
    free = (len(rows) - 1) * (len(columns) - 1)
    return median(left) / NORMAL.inv_cdf(0.75) * math.sqrt(len(left) / free)


def pairs_needed(spread, margin, power):
    """How many pairs of equals have, with this probability, an interval of 95 % whose upper end is below `margin`. A
    run's logarithm spreads by `spread`."""
    both = NORMAL.inv_cdf(0.975) + NORMAL.inv_cdf(power)
    return math.ceil((both * math.sqrt(2) * spread / math.log(margin)) ** 2 / EFFICIENCY)


def half_width(spread, pairs):
    """Half of the interval of so many pairs."""
    return NORMAL.inv_cdf(0.975) * math.sqrt(2 / (EFFICIENCY * pairs)) * spread
