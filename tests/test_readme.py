"""The README is true: its first command prints what it says, and what is linked exists."""

import re
import shlex
import subprocess
import sysconfig
from collections import Counter
from pathlib import Path

import click
import pytest

from topicmc.cli import topicmc as group

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("bench/README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]
SCRIPTS = Path(sysconfig.get_path("scripts"))


def block_after(mark: str) -> str:
    found = re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", README, re.DOTALL)
    assert found, f"README.md has no code block after <!-- {mark} -->"
    return found[1]


def timeless(text: str) -> list[str]:
    """The lines without what depends on the machine: threads, seconds, and evaluations in between
    (every so many seconds)."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("update ", "compiling ", "…")):
            continue
        line = re.sub(r"1 worker x \d+ threads?", "1 worker", line)
        lines.append(re.sub(r"[\d.]+ s of training", "training", line))
    return lines


def test_the_transcript_is_what_the_first_command_prints(tmp_path):
    """The topics of the extract, word for word: the same bits on any machine and thread count."""
    command = re.search(r"(?m)^python3 -m venv .*\.venv/bin/(topicmc train .*)$", README)
    assert command
    name, *arguments = command[1].split()
    done = subprocess.run(
        [SCRIPTS / name, *arguments],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    told, wanted = timeless(done.stdout), timeless(block_after("transcript"))
    assert sorted(told) == sorted(wanted), f"the transcript should be\n{done.stdout}"


def test_the_commands_are_one_line_each():
    lines = re.findall(r"(?m)^python3 .*$", README)
    assert len(lines) == 2
    assert all(line.startswith("python3 -m venv .venv && .venv/bin/pip install") for line in lines)
    assert block_after("tests").strip() == lines[1]


def blocks():
    """The name of the page and the command lines, without ``topicmc``, of each of its blocks."""
    for page in PAGES:
        for block in re.findall(r"```(?:sh|console)\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            lines = []
            for line in block.replace("\\\n", " ").splitlines():
                found = re.search(r"(?<![\w/-])(?:\.venv/bin/)?topicmc (.+)", line.split("#")[0])
                if found and "pip install" not in found[0]:
                    lines.append(found[1])
            yield page.name, lines


def command_lines():
    for page, lines in blocks():
        for line in lines:
            yield pytest.param(line, id=f"{page}: {line.strip()}")


@pytest.mark.parametrize("line", list(command_lines()))
def test_every_command_line_in_the_documentation_parses(line):
    words = shlex.split(re.sub(r"[…\[\]]|\s(\d?>|[|&]).*", "", line))
    command: click.Command | None = group
    context = click.Context(group)
    while isinstance(command, click.Group):
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"there is no command {name}"
    assert command is not None
    command.make_context(command.name, words)


def test_no_command_of_a_block_writes_where_another_has():
    """But for those that go on with a run, and downloads, which may share a folder."""
    for page, lines in blocks():
        new = [line for line in lines if "--resume" not in line and not line.startswith("fetch ")]
        places = [found[1] for line in new if (found := re.search(r" -o (\S+)", line))]
        assert len(set(places)) == len(places), f"{page}: {lines}"


def test_the_tests_that_evidence_names_are_there():
    """One without a file is in the file that is named last above it."""
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    names = re.findall(r"`(?=\w)((?:\w+/)*test_\w+\.py)?(?:::)?(test_\w+)?`", page)
    assert len(names) > 80
    tests = ""
    for file, name in names:
        tests = (ROOT / "tests" / file).read_text(encoding="utf-8") if file else tests
        assert f"def {name}" in tests, f"{file}: there is no {name}"


def anchors(page):
    """Of the headings of a page, as GitHub makes them; the second of a name has -1 behind it."""
    text = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
    found = Counter()
    for heading in re.findall(r"(?m)^#+ (.+)$", text):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        yield f"{slug}-{found[slug]}" if found[slug] else slug
        found[slug] += 1


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name} links to {target}"
