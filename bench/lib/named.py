"""Named groups of a bench's own."""

import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from lib import ending, ours

TREES = Path("/sys/fs/cgroup")


@contextmanager
def registry():
    """The environment in which commands have a registry of the bench's own, which is empty again at the end."""
    ending.by_signals()
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder}
        try:
            yield environment
        finally:
            command = [ours.CROSSTALK, "groups", "remove", "--all", "--kill"]
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)


def charged(name):
    """Bytes that are charged to a group."""
    files = ("memory.usage_in_bytes", "memory.current")
    (found,) = [path for file in files for path in TREES.glob(f"**/crosstalk-groups/{name}/{file}")]
    return int(found.read_text())
