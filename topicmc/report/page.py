"""The page: template, style, scripts and data in one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from string import Template
from typing import Any

SCRIPTS = ("dom", "charts", "words", "names", "map", "tree", "topic", "overview", "search", "main")


def assemble(data: dict[str, Any]) -> str:
    """The page that shows what `gather` has gathered.

    Its policy lets this style and these scripts run, by their hashes, and nothing else: even if a
    word should get into the page as markup, it would neither run nor reach the network.
    """
    style, many = _part("style.css"), data["terms"]["many"]
    script = "\n".join(_part(f"{name}.js") for name in SCRIPTS)
    return Template(_part("template.html")).substitute(
        policy=(
            f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
            " base-uri 'none'; form-action 'none'"
        ),
        version=html.escape(data["version"]),
        title=html.escape(data["title"].encode("utf-8", "replace").decode()),  # names of folders
        one=data["terms"]["one"],
        many=many,
        Many=many.capitalize(),
        guide=_part(f"guide-{many}.html"),
        style=style,
        script=script,
        data=embedded(data),
    )


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element or begins markup."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(name: str) -> str:
    return (files("topicmc.report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
