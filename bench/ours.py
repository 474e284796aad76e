"""How the benches start our probes."""

import json
import socket
import subprocess
import time

from pairs import ROOT

# The one line to change for another program with the same arguments.
PROBE = [ROOT / "target" / "release" / "examples" / "probe"]


def build():
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--package", "crosstalk-work", "--example", "probe"],
        cwd=ROOT, check=True,
    )


def serve(kind, address):
    return PROBE + [kind, "--listen", address]


def measure(kind, address, **parameters):
    return PROBE + [kind, "--to", address] + [f"{name}={value}" for name, value in parameters.items()]


def readings(text):
    """Metric -> its value or series."""
    found = {}
    for line in text.splitlines():
        reading = json.loads(line)["reading"]
        found[reading["metric"]] = reading.get("value", reading.get("series"))
    return found


def settle():
    """Lets a server that was just started come to its accept or receive call."""
    time.sleep(0.3)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
