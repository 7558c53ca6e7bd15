"""How docstrings are read for the site: ``q, v: …`` describes two names at once."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

SEVERAL = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+): (?P<text>.*)$", re.MULTILINE)


class SeveralNames(Extension):
    """Gives each of several names that share a description a line of its own."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of a class or function, before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = SEVERAL.sub(separated, obj.docstring.value)


def separated(match: re.Match[str]) -> str:
    """One line for each name; the first has the description, the others refer to it."""
    first, *others = match["names"].split(", ")
    lines = [f"{match['indent']}{first}: {match['text']}"]
    lines = [f"{match['indent']}{other}: See `{first}`." for other in others] + lines
    return "\n".join(lines)
