"""What a job prints, without the tokens of its environment."""

import os
import re

_SECRET = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|KEY|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST_SECRET = 8  # a shorter value is a switch, and would be found in words


class RedactingStream:
    """A log file in which Python writes no token of the environment, whatever a library prints."""

    def __init__(self, file):
        self._file = file
        self._secrets = [
            value
            for name, value in os.environ.items()
            if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET
        ]

    def write(self, text: str) -> int:
        for secret in self._secrets:
            text = text.replace(secret, "<token>")
        self._file.write(text)
        self._file.flush()
        return len(text)

    def __getattr__(self, name):
        return getattr(self._file, name)
