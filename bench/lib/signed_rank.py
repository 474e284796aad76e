"""Ratios and quantiles with their 95 % bounds, the ratios as the `stats` room has them: the interval
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


def quantile(values, share, error=0.05):
    """What so large a share of the values lies below: point, lower and upper end at `error` on both
    sides together, by order statistics (Conover 1999, 3.2). The ends are of the values themselves,
    and where there are too few for one, the extreme."""
    ordered, n = sorted(values), len(values)
    below, cumulated = 0.0, []
    for count in range(n + 1):
        below += math.comb(n, count) * share**count * (1 - share) ** (n - count)
        cumulated.append(below)
    low = max((k for k in range(n) if cumulated[k] <= error / 2), default=0)
    high = next((k for k in range(n) if cumulated[k] >= 1 - error / 2), n - 1)
    point = middle(ordered) if share == 0.5 else ordered[min(n - 1, int(n * share))]
    return point, ordered[low], ordered[high]


def middle(ordered):
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
