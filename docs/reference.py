"""Writes docs/reference.md, the Python interface, from the docstrings of the package.

python docs/reference.py            write it
python docs/reference.py --check    exit with 1 when it is not what would be written
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

PAGE = Path(__file__).with_name("reference.md")

# What programs may rely on; everything else may change without notice.
PUBLIC = {
    "topicmc": ("LDA", "MatrixFactorization"),
    "topicmc.estimator": ("Evaluation",),
    "topicmc.corpora": ("prepare", "Tokenizer", "stop_words", "Corpus", "verify"),
    "topicmc.corpora.documents": ("Documents",),
    "topicmc.models.lda.run": ("TopicRun",),
    "topicmc.models.lda.samples": ("samples_of", "posterior_mean", "PosteriorMean", "phi_of",
                                  "share_of", "alpha_of"),
    "topicmc.topics.reading": ("describe", "Topic", "diversity", "word_shares"),
    "topicmc.topics.ranking": ("rank", "relevance", "frex", "exclusivity"),
    "topicmc.topics.coherence": ("measure", "document_counts", "DocumentCounts", "u_mass", "npmi",
                                 "c_v"),
    "topicmc.topics.matching": ("match_topics", "distances"),
    "topicmc.topics.uncertainty": ("posterior_of", "Posterior", "WordPosterior"),
    "topicmc.topics.document_groups": ("groups_of", "Groups"),
    "topicmc.topics.effects": ("effects_of", "Effects", "Interval"),
    "topicmc.topics.diagnostics": ("diagnose", "Diagnostics"),
    "topicmc.models.lda.scoring": ("score_run", "score_topics", "Score"),
    "topicmc.inference.mixes": ("Mixer", "representative_documents"),
    "topicmc.export": ("export",),
    "topicmc.export.source": ("Source", "Topics"),
    "topicmc.topics.compare.models": ("Model", "RunModel", "MatrixModel"),
    "topicmc.topics.compare.comparison": ("compare", "Comparison", "Measures"),
    "topicmc.topics.choose.selection": ("Grid",),
    "topicmc.topics.choose.choice": ("Point", "advice"),
    "topicmc.models.factors.run": ("FactorRun",),
    "topicmc.models.factors.rows": ("Factors",),
    "topicmc.models.factors.prediction": ("predict", "Prediction"),
    "topicmc.kernels.threads": ("Threads",),
    "topicmc.host.interrupts": ("Interrupt",),
    "topicmc.engine.loop": ("Listener",),
    "topicmc.errors": ("TopicmcError", "UsageError", "DataError", "DivergedError"),
}  # fmt: skip

# Of these classes only some methods: others are for whoever writes what they read.
MEMBERS = {
    "TopicRun": ("open", "facts", "vocabulary", "metrics", "sample_index", "read_sample"),
    "FactorRun": ("open", "facts", "scale", "data", "metrics", "sample_index", "read_sample"),
    "Corpus": ("open", "vocabulary", "titles", "times", "ids", "columns", "about", "shard",
               "heldout", "check"),
    "Documents": ("n_docs", "n_entries", "n_tokens", "lengths", "sizes", "part"),
    "Tokenizer": (),
    "Posterior": ("labels", "groups", "p_w", "n_chains", "n_samples", "in_their_start", "believed",
                  "found", "knows_stable", "stable", "distance", "words", "intervals", "coverage",
                  "remark", "as_dict"),
    "Source": ("topics",),
    "Topics": ("pseudo_counts",),
    "Model": (),
    "RunModel": (),
    "MatrixModel": (),
    "Grid": ("path", "train", "runs"),
    "Threads": (),
    "Interrupt": (),
}  # fmt: skip

HEAD = """\
# Python interface

<!-- Written by docs/reference.py from docstrings: change those, and run it. -->

What programs may rely on. [cli.md](cli.md) has the commands and their options.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for module, names in PUBLIC.items():
        parts.append(f"## `{module}`")
        found = importlib.import_module(module)
        if found.__doc__:
            parts.append(markdown(found.__doc__))
        for name in names:
            parts += _described(name, getattr(found, name))
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _described(name: str, value: Any) -> Iterator[str]:
    """A function with its docstring, or a class with those of its public methods."""
    if not inspect.isclass(value):
        yield f"### `{name}{_signature(value)}`"
        yield markdown(value.__doc__ or "")
        return
    is_made = not issubclass(value, Exception) and not getattr(value, "_is_protocol", False)
    yield f"### class `{name}{_signature(value) if is_made else ''}`"
    yield markdown(value.__doc__ or "")
    members = []
    parts = [vars(base) for base in value.__mro__ if base.__module__.startswith("topicmc")]
    for member, inner in {name: v for part in reversed(parts) for name, v in part.items()}.items():
        told = _told(inner)
        if told and member in MEMBERS.get(name, (member,)) and not member.startswith("_"):
            text = markdown(told).replace("\n", "\n  ").replace("\n  \n", "\n\n")
            members.append(f"- `{member}{_parameters(inner)}`: {text}")
    yield "\n".join(members)


def _told(member: Any) -> str | None:
    """A method's or property's own docstring; None for other members of a class."""
    if isinstance(member, (staticmethod, classmethod)):
        member = member.__func__
    kinds = (FunctionType, property, cached_property)
    return member.__doc__ if isinstance(member, kinds) else None


def _parameters(member: Any) -> str:
    """Those of a method as it is called."""
    if isinstance(member, (property, cached_property)):
        return ""
    function = getattr(member, "__func__", member)
    return _signature(function, skip=0 if isinstance(member, staticmethod) else 1)


def _signature(value: Any, skip: int = 0) -> str:
    """The parameters with their defaults; the docstring tells their types."""
    found = inspect.signature(value)
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values()][skip:]
    return str(inspect.Signature(parameters))


def markdown(docstring: str) -> str:
    """A docstring with its sections as lists: ``Args:`` and the like, or those of NumPy's style."""
    intro, *sections = re.split(r"(?m)^(\w+)\n-{3,}\n", inspect.cleandoc(docstring))
    parts = [_paragraph(paragraph) for paragraph in intro.strip().split("\n\n")]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        parts += [f"**{title}**", _numpy_section(body.strip("\n"))]
    return "\n\n".join(part for part in parts if part)


def _paragraph(paragraph: str) -> str:
    title, _, body = paragraph.partition("\n")
    if not re.fullmatch(r"[A-Z]\w+:", title):
        return _code(paragraph)
    lines = [f"**{title[:-1]}**", ""]
    for entry in inspect.cleandoc(body).split("\n"):
        named = re.fullmatch(r"(\*{0,2}\w+(?:, \w+)*): (.*)", entry)
        if named:
            lines.append(f"- `{named[1]}`: {named[2]}")
        elif lines[-1].startswith(("- ", "  ")):
            lines.append(f"  {entry.strip()}")
        else:
            lines.append(entry)
    return _code("\n".join(lines))


def _numpy_section(body: str) -> str:
    if body.startswith(">>>"):
        return f"```python\n{body}\n```"
    lines = []
    for line in body.split("\n"):
        name, _, kind = line.partition(" : ")
        if line.startswith(" ") or not line:
            lines.append(f"  {line.strip()}".rstrip())
        else:
            lines.append(f"- `{name}`{kind and f', {kind}'}:")
    return _code(re.sub(r":(?=\n- |\Z)", "", "\n".join(lines)))


def _code(paragraph: str) -> str:
    """Code in single backticks; a paragraph that is indented is shown as it stands."""
    if all(line.startswith("    ") for line in paragraph.split("\n")):
        return paragraph
    return paragraph.replace("``", "`")


def main() -> None:
    text = reference()
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text
        sys.exit(0 if same else "docs/reference.md is out of date: run python docs/reference.py")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
