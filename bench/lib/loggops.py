"""LogGOPS parameters of links, from what two nodes on them measure, and a catalogue with them.

Pure arithmetic and texts. Times are seconds, sizes bytes.
"""

from itertools import combinations
from typing import NamedTuple

#: A frame of Ethernet with its header, and what it carries for TCP with time stamps.
FRAME, PAYLOAD = 1514, 1448
#: Decimals of a nanosecond in a catalogue.
DIGITS = 4
NODES = 7


class Costs(NamedTuple):
    """L, o, g and G; O is zero."""

    latency: float
    overhead: float
    gap: float
    gap_per_byte: float


def line(times):
    """Intercept and slope of size -> time: the median slope of all pairs of sizes (Theil and Sen), and the median
    of what it leaves."""
    slope = median([(times[b] - times[a]) / (b - a) for a, b in combinations(sorted(times), 2)])
    return median([time - slope * (size - 1) for size, time in times.items()]), slope


def fit(half_round_trips, streams, count):
    """The costs that two nodes show. `half_round_trips` and `streams` are size -> time; a stream is of `count`
    messages, from the first one's start to the last one's end.

    G is the slope of the streams, as they keep the link busy, and g what is left of them beside one message. The
    half round trips, of messages that wait for no link, give L + 2o. They cannot separate L and o: o is taken to be
    g, and at most half of the shortest of them, as in `crates/model/src/fit.rs`."""
    shortest = min(half_round_trips.values())
    intercept, slope = line(streams)
    gap = max(0.0, (intercept - shortest) / count)
    overhead = min(gap, shortest / 2)
    return Costs(shortest - 2 * overhead, overhead, gap, slope / count)


def nominal(rate):
    """The costs of a link of `rate` bit/s that has only its framing: what is assumed until a link is measured."""
    return Costs(0.0001, 0.0, 0.0, 8 / rate * FRAME / PAYLOAD)


def fabric(name, rate, costs):
    """The file of a fabric."""
    quantity = lambda seconds: f'"{seconds * 1e9:.{DIGITS}f} ns"'
    named = {"L": costs.latency, "o": costs.overhead, "g": costs.gap, "G": costs.gap_per_byte, "O": 0.0}
    values = ", ".join(f"{parameter} = {quantity(seconds)}" for parameter, seconds in named.items())
    fitted = '{ text = "Fitted to two nodes by bench/truth_patterns.py." }'
    sources = "".join(f"{parameter} = {fitted}\n" for parameter in named)
    rate_source = 'rate = { text = "Chosen so that two cores carry every frame." }\n'
    return (
        f'title = "{name}"\nrate = "{rate / 1e6:g} Mbit/s"\ncosts = {{ {values} }}\n'
        f"[source]\n{rate_source}{sources}"
    )


def system(name):
    """The file of a system of seven nodes like this machine's cores, on that fabric. Its only network has its name."""
    node = '{ cpu = "this machine\'s", cores = 1, clock = "3 GHz", speed = 1.0, memory = "16 GB" }'
    sources = "".join(
        f'{key} = {{ text = "As the nodes in real time." }}\n'
        for key in ("cpu", "cores", "clock", "memory", "speed", "boards", "network")
    )
    return (
        f'title = "Seven nodes on {name}"\nnode = {node}\nboards = {{ count = 1, nodes = {NODES} }}\n'
        f'[network.ethernet]\nwithin = "{name}"\nacross = "{name}"\n[source]\n{sources}'
    )


def write(directory, name, rate, costs):
    """Writes the catalogue: the fabric, and the system on it."""
    for folder, text in (("fabrics", fabric(name, rate, costs)), ("systems", system(name))):
        (directory / folder).mkdir(parents=True, exist_ok=True)
        (directory / folder / f"{name}.toml").write_text(text)


def median(values):
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
