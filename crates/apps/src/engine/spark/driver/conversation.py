"""The connection to the program: a JSON object a line, both ways."""

import json
import os
import queue
import re
import socket
import subprocess
import threading
from importlib.metadata import version

#: How long the program may take to accept the connection.
PATIENCE = 10.0


class Conversation:
    """`at_end` is called when the connection closes, in another thread and
    whatever else is going on; then the process ends."""

    def __init__(self, port, key, at_end):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.settimeout(None)
        self.arrived, self.at_end = queue.Queue(), at_end
        self.say({"key": key, "spark": version("pyspark"), "java": java()})
        threading.Thread(target=self._listen, daemon=True).start()

    def lines(self):
        """The requests, as they come."""
        while True:
            yield self.arrived.get()

    def say(self, what):
        # NaN and infinities are no JSON: a ValueError says so.
        text = json.dumps(what, allow_nan=False)
        try:
            self.socket.sendall(text.encode() + b"\n")
        except OSError:
            self._end()

    def progress(self, what):
        self.say({"is": "progress", "what": what})

    def _listen(self):
        try:
            with self.socket.makefile("rb") as file:
                for line in file:
                    self.arrived.put(line)
        except OSError:
            pass
        self._end()

    def _end(self):
        try:
            self.at_end()
        finally:
            os._exit(0)


def java():
    """The version of the Java that Spark will start, or none."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else "java"
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "([^"]+)"', told.stderr)
    return found and found[1]
