"""What topics may be called."""

from __future__ import annotations

LONGEST = 100
"""Characters of a name."""


def fault_of_name(name: str) -> str | None:
    """Why a topic or a group cannot have that name, or None."""
    if not name.strip() or name != name.strip():
        return f"the name {name!a} is empty or has blanks at an end"
    if len(name) > LONGEST:
        return f"the name {name[:20]!a}… is longer than {LONGEST} characters"
    if not name.isprintable():
        return f"the name {name!a} holds characters that cannot be printed"
    return None
