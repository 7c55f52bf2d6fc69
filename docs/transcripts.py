"""Runs the commands of some pages and puts what they print into the pages.

    python docs/transcripts.py FOLDER tutorial choosing

FOLDER is a folder to work in, best a new one; pages that build on each other share it. Each block
of commands (sh) that has a block of text right behind it is run, and the text is replaced by what
it has written to stdout. A block of Python that begins with the comment ``# NAME.py`` is saved
under that name.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

BLOCK = re.compile(r"```(sh|python)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
WIDTH = 100


def refresh(page: Path, folder: Path) -> None:
    """Does what a page says in a folder, and rewrites the page."""

    def run(block: re.Match[str]) -> str:
        kind, content, told = block.groups()
        if kind == "python":
            named = re.match(r"# (\w+\.py)\n", content)
            if named:
                (folder / named[1]).write_text(content)
            return block[0]
        if told is None:
            return block[0]
        print(content, end="", file=sys.stderr)
        done = subprocess.run(
            ["bash", "-ec", content], cwd=folder, stdout=subprocess.PIPE, check=True, text=True
        )
        lines = done.stdout.rstrip().replace(f"{folder}/", "").split("\n")
        shown = "\n".join(line for wide in lines for line in _wrapped(wide))
        return f"```sh\n{content}```\n\n```text\n{shown}\n```"

    page.write_text(BLOCK.sub(run, page.read_text(encoding="utf-8")), encoding="utf-8")


def _wrapped(line: str) -> list[str]:
    """Sentences as a terminal would show them; tables stay as they are."""
    is_table = "  " in line.strip()
    return [line] if is_table or len(line) <= WIDTH else textwrap.wrap(line, WIDTH)


def main() -> None:
    folder, *pages = sys.argv[1:]
    place = Path(folder).resolve()
    place.mkdir(parents=True, exist_ok=True)
    for page in pages:
        refresh(Path(__file__).with_name(f"{page}.md"), place)


if __name__ == "__main__":
    main()
