"""How the benches start our program."""

import hashlib
import json
import os
import socket
import sys
import time
from pathlib import Path

from lib.wire import ROOT, cargo

#: A program that was built before and is measured as it is.
GIVEN = os.environ.get("CROSSTALK_PROGRAM")
CROSSTALK = Path(GIVEN).resolve() if GIVEN else ROOT / "target" / "release" / "crosstalk"
PROBE = [CROSSTALK, "--json", "probe"]


def build():
    """Builds the program that is measured, unless `CROSSTALK_PROGRAM` names one."""
    if not GIVEN:
        cargo("build", "--package", "crosstalk-cli")
    elif not (CROSSTALK.is_file() and os.access(CROSSTALK, os.X_OK)):
        sys.exit(f"CROSSTALK_PROGRAM: expected a program, found {GIVEN}; unset it to have one built")


def given():
    """What a figure says of a program that was given: no revision of this tree is its own."""
    return {"program": hashlib.sha256(CROSSTALK.read_bytes()).hexdigest()} if GIVEN else {}


def serve(kind, address):
    return PROBE + [kind, "--listen", address]


def measure(kind, address, size, seconds, *options):
    return PROBE + [kind, "--to", address, "--size", f"{size} B", "--time", f"{seconds} s", *options]


def readings(text):
    """Metric -> its value or series, from the last line of the output."""
    found = {}
    for line in json.loads(text.splitlines()[-1])["readings"]:
        reading = line["reading"]
        found[reading["metric"]] = reading.get("value", reading.get("series"))
    return found


def counted_readings(text):
    """Every reading of the last line, with how many observations it stands for."""
    return [(line["reading"], line["n"]) for line in json.loads(text.splitlines()[-1])["readings"]]


def one(readings, metric, **labels):
    """The value of the only such reading, and its number of observations; None and 0 of none."""
    fits = lambda reading: reading["metric"] == metric and labels.items() <= reading["labels"].items()
    found = [(reading["value"], n) for reading, n in readings if fits(reading)]
    (only,) = found or [(None, 0)]
    return only


def settle():
    """Lets a server that was just started come to its accept or receive call."""
    time.sleep(0.3)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
