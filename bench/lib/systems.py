"""Files of systems, changed for a measurement."""

import re


def idle(text):
    """The same system with processors that take next to no time: then messages alone are compared. Their speed is set here, and has no range."""
    changed, times = re.subn(r"\bspeed = [0-9.]+,", "speed = 1e6,", text, count=1)
    if times != 1:
        raise SystemExit("a system's file has no `speed = …,` that could be changed")
    return re.sub(r"^speed = \{.*\}$", 'speed = { text = "Set for a measurement." }', changed, flags=re.MULTILINE)
