#!/usr/bin/env python3
"""A newcomer's way: a fresh clone on a machine without what only tests and benches install,
`make run`, and then everything that the README shows. Each command must end as it says, or say
what is missing and what installs it where `make run` could not have installed it.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.figures import Figures
from lib.wire import ROOT

#: Only tests and benches install these: they are hidden from the newcomer.
HIDDEN = ["clang", "llvm-strip", "chromium", "java", "qemu-system-x86_64", "redis-server", "iperf3", "sockperf", "fio"]

#: What a reader puts in the place of the README's names.
STAND_INS = {"./backup": "sleep 1", "DIR": "runs/kosmos-001", "crosstalk plan": "crosstalk plan kosmos"}

#: What goes on until it is interrupted, or for hours: so many seconds, then Ctrl-C.
INTERRUPTED = {"crosstalk run kosmos": 90, "crosstalk run ./my.toml": 90, "crosstalk guard boinc --slowdown 1%": 10}

#: What must run meanwhile.
BESIDE = {
    "crosstalk trace --port 6379": "python3 -m http.server 6379 --bind 127.0.0.1 & "
    "while sleep 0.05; do python3 -c 'import urllib.request; urllib.request.urlopen(\"http://127.0.0.1:6379\")'; done",
    "crosstalk guard boinc --slowdown 1%": "mkdir -p boinc && boinc --dir boinc --no_gpus",
}

#: What of that is waited for: the server listens.
AWAITED = {
    "crosstalk trace --port 6379": "until (exec 3<>/dev/tcp/127.0.0.1/6379) 2>&-; do sleep 0.1; done",
}


def main():
    options = arguments()
    figures = Figures("doors")
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "crosstalk"
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        began = time.monotonic()
        code, text = newcomer(clone, "make run", options.limit)
        figures.add("make run", time.monotonic() - began, "s", n=1, ended=code)
        if code != 0:
            sys.exit(f"make run ended with {code}:\n{text[-3000:]}")
        shown = commands(clone)
        refused = [refusal for command in shown if (refusal := walk(clone, command, options.limit))]
    for refusal in refused:
        print(refusal, file=sys.stderr)
    figures.add("refused", len(refused), "count", n=len(shown), refused=refused)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one command")
    parser.add_argument("--list", action="store_true", help="print the README's commands, and run nothing")
    options = parser.parse_args()
    if options.list:
        print("\n".join(commands(ROOT)))
        sys.exit()
    return options


def commands(root):
    """The commands of the README, in blocks and in sentences, each once."""
    text = (root / "README.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    sentences = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.M | re.S).replace("\n", " ")
    inline = re.findall(r"`((?:sudo )?crosstalk [^`]+)`", sentences)
    wanted = [line.split("  #")[0].strip() for line in [*lines, *inline]]
    return list(dict.fromkeys(line for line in wanted if re.match(r"(sudo )?crosstalk \w", line)))


def walk(clone, command, limit):
    """Runs one command as a newcomer would; what it said where it refused."""
    command = command.removeprefix("sudo ")
    words = STAND_INS.get(command, command)
    for name in ["./backup", "DIR"]:
        words = words.replace(name, STAND_INS[name])
    beside = BESIDE.get(command)
    meanwhile = newcomer_begins(clone, beside) if beside else None
    if command in AWAITED:
        newcomer(clone, AWAITED[command], limit)
    interrupted = command in INTERRUPTED
    code, text = newcomer(clone, words, INTERRUPTED.get(command, limit), interrupted)
    if meanwhile:
        os.killpg(meanwhile.pid, signal.SIGKILL)
        meanwhile.wait()
    print(f"  {code:4} {command}", flush=True)
    return None if code == 0 or interrupted and code == 130 else f"{command}: ended with {code}\n{text[-800:]}"


def newcomer(clone, script, limit, interrupt=False):
    """Runs a script in the clone; how it ended, and what it said."""
    started = newcomer_begins(clone, script)
    try:
        text, _ = started.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGINT if interrupt else signal.SIGKILL)
        text, _ = started.communicate(timeout=60)
        return (ended(started) if interrupt else "late"), text
    return ended(started), text


def ended(process):
    """Its exit code, as a shell has it: 128 and the signal's number where one ended it."""
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def newcomer_begins(clone, script):
    """Starts a script in a mount namespace in which HIDDEN is not installed."""
    hide = (
        f"for name in {' '.join(HIDDEN)}; do "
        "place=$(command -v $name) && mount --bind /dev/null $(realpath $place); done"
    )
    unset = ("CARGO_TARGET_DIR", "CROSSTALK_SPARK", "JAVA_HOME")
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    return subprocess.Popen(
        ["unshare", "--mount", "bash", "-c", f"{hide}\n{script}"],
        cwd=clone, env={**kept, "PATH": f"{clone}/target/release:{kept['PATH']}"}, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )


if __name__ == "__main__":
    main()
