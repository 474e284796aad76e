"""Where the benches run: the wire, the servers, the programs.
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lib import ending

ROOT = Path(__file__).resolve().parent.parent.parent


class Wire:
    """Two places joined by a wire: network namespaces and a veth pair as root,
    else the loopback. Taken away at exit, also on signals."""

    def __init__(self):
        self.names = [f"ctb{os.getpid()}{end}" for end in "ab"]
        self.addresses = ["10.213.7.1", "10.213.7.2"]
        ending.by_signals()
        atexit.register(self.close)
        remove_stale()
        self.kind = "veth" if os.geteuid() == 0 and self.raise_veth() else "loopback"
        if self.kind == "loopback":
            self.close()
            self.addresses = ["127.0.0.1", "127.0.0.1"]

    def raise_veth(self):
        a, b = self.names
        commands = [
            f"ip netns add {a}",
            f"ip netns add {b}",
            f"ip -n {a} link add wire type veth peer name wire netns {b}",
        ]
        for name, address in zip(self.names, self.addresses):
            commands += [
                f"ip -n {name} address add {address}/30 dev wire",
                f"ip -n {name} link set wire up",
                f"ip -n {name} link set lo up",
            ]
        return all(run_quietly(command) for command in commands)

    def close(self):
        for name in self.names:
            run_quietly(f"ip netns delete {name}")

    def command(self, end, cpu, words):
        """`words` as they run at one end (0 measures, 1 serves), on a processor."""
        place = ["ip", "netns", "exec", self.names[end]] if self.kind == "veth" else []
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        return place + pin + [str(word) for word in words]


def remove_stale():
    """Takes away what a bench left that was killed without a chance to."""
    try:
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, timeout=20).stdout
    except OSError:
        return
    for name, pid in re.findall(r"^(ctb(\d+)[ab])\b", listed, re.MULTILINE):
        if not Path(f"/proc/{pid}").exists():
            run_quietly(f"ip netns delete {name}")


def run_quietly(command):
    try:
        return subprocess.run(command.split(), capture_output=True, timeout=20).returncode == 0
    except OSError:
        return False


class Server:
    """A program that serves while the block runs."""

    def __init__(self, command, ready):
        self.command, self.ready = command, ready

    def __enter__(self):
        # Where a bench is killed, its servers go with it.
        with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            with_us + self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        atexit.register(self.process.kill)
        self.ready()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        atexit.unregister(self.process.kill)


def output(command, seconds):
    """What a program prints; ends this program with its complaint where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def cargo(*words):
    """Builds quietly, before anything is timed."""
    subprocess.run(["cargo", *words, "--release", "--locked", "--quiet"], cwd=ROOT, check=True)
