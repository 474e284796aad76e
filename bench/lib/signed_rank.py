"""Ratios with their 95 % bounds, as the `stats` room has them: the interval
inverts Wilcoxon's signed-rank test (Hodges and Lehmann 1963) on the logarithms
of ours over theirs, one datum a pair or block.
"""

import math


def critical(n, tail):
    """The largest c with P(W < c) <= tail, W the signed-rank statistic of n."""
    ways = [1]
    for rank in range(1, n + 1):
        longer = ways + [0] * rank
        for total, count in enumerate(ways):
            longer[total + rank] += count
        ways = longer
    below, c = 0, 0
    while (below + ways[c]) / 2**n <= tail:
        below += ways[c]
        c += 1
    return c


def ratio(pairs, error=0.05):
    """Ours over theirs: point, lower and upper end at `error` on both sides together."""
    logs = [math.log(ours / theirs) for ours, theirs in pairs]
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(len(logs)) for j in range(i + 1))
    cut = critical(len(logs), error / 2)
    if cut == 0:
        return math.exp(middle(walsh)), 0.0, math.inf
    return tuple(math.exp(v) for v in (middle(walsh), walsh[cut - 1], walsh[-cut]))


def middle(ordered):
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
