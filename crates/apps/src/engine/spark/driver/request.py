"""A request and what it says, checked."""

import json
import math
import os

from failure import Failure


class Request:
    """An object of JSON, part by part. What is wrong is said with its name."""

    def __init__(self, parts):
        self.parts = parts

    @classmethod
    def read(cls, line):
        try:
            parts = json.loads(line)
        except ValueError as error:
            raise Failure(f"a request is not JSON: {error}")
        if not isinstance(parts, dict):
            raise Failure(f"a request must be a JSON object, found {json.dumps(parts)[:80]}")
        return cls(parts)

    def _part(self, name, default, expected, holds):
        found = self.parts.get(name)
        if found is None:
            found = default
        if found is None or not holds(found):
            raise Failure(f"`{name}`: expected {expected}, found {json.dumps(found)[:80]}")
        return found

    def whole(self, name, default=None, least=0, most=2**63 - 1):
        to = f"from {least} to {most}" if most < 2**63 - 1 else f"of at least {least}"
        expected = f"a whole number {to}"
        return self._part(name, default, expected, lambda x: is_whole(x) and least <= x <= most)

    def number(self, name, default=None, least=-math.inf, most=math.inf):
        expected = f"a number from {least} to {most}" if most < math.inf else f"a number of at least {least}"
        return float(self._part(name, default, expected, lambda x: is_number(x) and least <= x <= most))

    def numbers(self, name, default, least, whole=False):
        """A number or a list of them."""
        fits = is_whole if whole else is_number
        listed = lambda x: x if isinstance(x, list) else [x]
        holds = lambda x: listed(x) != [] and all(fits(n) and n >= least for n in listed(x))
        kind = "whole numbers" if whole else "numbers"
        return listed(self._part(name, default, f"{kind} of at least {least}", holds))

    def flag(self, name, default):
        return self._part(name, default, "true or false", lambda x: isinstance(x, bool))

    def text(self, name, default=None):
        return self._part(name, default, "a text", lambda x: isinstance(x, str))

    def choice(self, name, choices, default=None):
        return self._part(name, default, "one of " + ", ".join(choices), lambda x: x in choices)

    def object(self, name):
        return self._part(name, {}, "an object", lambda x: isinstance(x, dict))

    def file(self, name, optional=False):
        """The path of a file that can be read here, made absolute."""
        if optional and self.parts.get(name) is None:
            return None
        path = os.path.abspath(self.text(name))
        if not os.path.isfile(path):
            raise Failure(f"`{name}`: there is no file {path}")
        if not os.access(path, os.R_OK):
            raise Failure(f"`{name}`: the file {path} cannot be read")
        return path


def is_whole(x):
    return isinstance(x, int) and not isinstance(x, bool)


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)
