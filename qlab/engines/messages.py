"""The part of an engine's message that speaks to a person."""

import re

_CODE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : (\w+) : ")
_RUNNING = re.compile(
    r"Non-zero status code returned while running \w+ node\. Name:'[^']*' Status Message: "
)
_INVALID = re.compile(r"This is an invalid model\. (In Node, .*?, Error )?")
# A failed check: file, line and signature, then the condition, then what its author wrote.
_CHECK = re.compile(r"^/\S+\.(?:cc|cpp|h):\d+ .*? was false\. ")
_FILE = re.compile(r"^[\w/]+\.(?:cc|cpp|h):\d+ \w+ ")


def plain_words(message: str, limit: int = 240) -> str:
    """One line without file names, C++ signatures and node dumps: ``FAIL: QLinearMatmul : input zero point …``.

    The whole message stays in `EngineRun.message`.
    """
    line = " ".join(message.split())
    code = _CODE.match(line)
    rest = line[code.end() :] if code else line
    for noise in (_RUNNING, _INVALID):
        rest = noise.sub("", rest, count=1)
    rest = _FILE.sub("", _CHECK.sub("", rest, count=1), count=1)
    words = f"{code.group(1)}: {rest}" if code else rest
    return words if len(words) <= limit else f"{words[: limit - 1]}…"
