"""Small pieces of HTML. Every text that is not ours goes through `text`."""

import html
import re

_SOURCE = re.compile(r"(?P<repository>(?:[\w.-]+/)?[\w.-]+) #(?P<number>\d+)")
_OWNERS = {
    "onnxruntime": "microsoft/onnxruntime",
    "onnx": "onnx/onnx",
    "pytorch": "pytorch/pytorch",
    "neural-compressor": "intel/neural-compressor",
}


def text(value: object) -> str:
    """Escaped, on one line, so that it can stand in HTML inside Markdown too."""
    escaped = html.escape(" ".join(str(value).split()), quote=True)
    return escaped.replace("$", "&#36;").replace("`", "&#96;")


def plain(words: str) -> str:
    """A message without Markdown's signs, for the widgets that would read them."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]$<>~#:" else letter for letter in words)


def tag(name: str, content: str, *, css: str = "", title: str = "") -> str:
    """An element around content that is HTML already."""
    attributes = (f' class="{css}"' if css else "") + (f' title="{text(title)}"' if title else "")
    return f"<{name}{attributes}>{content}</{name}>"


def sign(character: str, css: str) -> str:
    """A sign beside a word that says the same, so a screen reader may skip it."""
    return f'<span class="sign {css}" aria-hidden="true">{text(character)}</span>'


def source_link(source: str) -> str:
    """A source's text; ``onnxruntime #23202`` becomes a link to the issue."""

    def link(match: re.Match[str]) -> str:
        repository = match["repository"]
        known = _OWNERS.get(repository, repository if "/" in repository else "")
        if not known:
            return match[0]
        address = f"https://github.com/{known}/issues/{match['number']}"
        return f'<a href="{address}" target="_blank" rel="noopener">{match[0]} ↗</a>'

    return _SOURCE.sub(link, text(source))


def index_text(tensor: str, index: tuple[int, ...]) -> str:
    """``C[0,0,0,0]``; just the name for a scalar."""
    return f"{tensor}[{','.join(str(i) for i in index)}]" if index else tensor
