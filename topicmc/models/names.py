"""What topics may be called."""

from __future__ import annotations

LONGEST = 100
"""Characters of a name."""

_SPELLING = str.maketrans("\u00a0\u3000", "  ", "\u200c\u200d")
"""Other blanks, and the joiners of scripts and emoji: names may hold them, though
`str.isprintable` says no."""


def fault_of_name(name: str) -> str | None:
    """Why a topic or a group cannot have that name, or None."""
    plain = name.translate(_SPELLING)
    if not plain.strip() or name != name.strip():
        return f"the name {name!a} is empty or has blanks at an end"
    if len(name) > LONGEST:
        return f"the name {name[:20]!a}… is longer than {LONGEST} characters"
    if not plain.isprintable():
        return f"the name {name!a} holds characters that cannot be printed"
    return None
