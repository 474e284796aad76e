"""Figures that tests and examples print, a JSON object a line.
"""

import json
import os
import signal
import subprocess
import sys

from lib import ending
from lib.wire import ROOT, cargo


def specification(package, test, wanted="", seconds=300, environment=None, own_main=False):
    """Runs the tests of one file whose names contain `wanted`: their exit code,
    the objects they printed, and why some were skipped. `own_main` marks a file
    that reads its arguments itself."""
    cargo("test", "--no-run", "--package", package, "--test", test)
    words = [wanted] if wanted else []
    words += [] if own_main else ["--nocapture", "--test-threads=1"]
    command = ["cargo", "test", "--release", "--locked", "--package", package, "--test", test, "--", *words]
    code, text = whole(command, seconds, environment)
    skipped = [line.split("skipped: ", 1)[1] for line in text.splitlines() if "skipped: " in line]
    if code != 0:
        print(text[-3000:], file=sys.stderr)
    return code, objects(text), skipped


def example(package, name, words, seconds, environment=None):
    """Runs an example: its exit code, the objects it printed, and its text."""
    cargo("build", "--package", package, "--example", name)
    path = ROOT / "target" / "release" / "examples" / name
    code, text = whole([path, *map(str, words)], seconds, environment)
    return code, objects(text), text


def objects(text):
    """What follows a line's first `{"`: a test's name may stand before it."""
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line[line.index('{"'):]))
        except ValueError:
            continue
    return found


def whole(command, seconds, environment=None):
    """Exit code and all output of a program, which goes with its descendants
    when its time is over, or ours."""
    ending.by_signals()
    child = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True, env={**os.environ, **(environment or {})},
    )
    try:
        text, _ = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        text, _ = child.communicate()
        text += f"\n{command[0]}: not finished after {seconds} s\n"
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    return child.returncode, text
