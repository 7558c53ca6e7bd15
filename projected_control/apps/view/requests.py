"""What a request of a browser is made of, how it is refused, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from projected_control.apps.view.mirror import Member
from projected_control.errors import InvalidValue, ProjectedControlError


class Malformed(InvalidValue):
    """What no page of ours sends."""


class MustConfirm(ProjectedControlError):
    """What is sent only when the user has agreed."""


@dataclass(frozen=True)
class Change:
    """Something that was done and can be undone."""

    controller: str  # full name
    text: str  # what, in words
    node: str  # whose parameters changed; empty for a set-point
    # The values they had; or where the reference was.
    before: Mapping[str, Any] = field(default_factory=dict)
    # Whether the reference was one of the parameters', which is then followed again.
    resume: bool = False


class UnknownAsk(Malformed):
    """Something that cannot be asked for."""

    def __init__(self, ask: str, known: Mapping[str, Any]) -> None:
        super().__init__(f"unknown request {ask[:40]!r}; there are: {', '.join(known)}")


def text_in(message: Mapping[str, Any], key: str) -> str:
    """A short text of a request."""
    text = message.get(key)
    if not isinstance(text, str) or len(text) > 200:
        raise Malformed(f"{key} must be a short text")
    return text


def listed(member: Member, name: str, value: Any) -> Any:
    """A number where the parameter is a list, as parameter files may have it."""
    return [value] if member.controls[name].is_list and not isinstance(value, list) else value


def shown(value: Any) -> str:
    """A value as a person writes it."""
    if isinstance(value, list):
        return f"[{', '.join(shown(item) for item in value)}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
