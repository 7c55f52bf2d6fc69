"""What the JSON files of a run may say; DataError names the file and the field that cannot be.

Fields that only later versions write, or only earlier ones, may be missing; what every reader needs
may not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from topicmc.errors import DataError
from topicmc.settings.config import MAX_TOPICS, MAX_WORKERS
from topicmc.storage.fields import SHA256, Record, shown

_SAMPLE = r"chain-\d{3,9}-[a-z]+-\d{9,12}\.np[yz]"
_POSITION = 10**12  # most rounds, updates or sweeps


def check_facts(path: Path, facts: Any) -> None:
    """``run.json``: settings that readers use, and what is said of the corpus."""
    facts = Record(path, facts)
    config, corpus = facts.record("config"), facts.record("corpus")
    for name, most in {"topics": MAX_TOPICS, "workers": MAX_WORKERS, "chains": MAX_WORKERS}.items():
        if name in config:
            config.whole(name, least=1, most=most)
    for name in ("alpha", "beta"):
        if name in config:
            config.number(name, least=0)
    if "seed" in config:
        config.whole("seed", most=2**63 - 1)
    if "sampler" in config:
        config.text("sampler", "[a-z]+")
    for name in ("documents", "tokens", "words"):
        if name in corpus:
            corpus.whole(name)
    for name in ("path", "fingerprint"):
        if name in corpus:
            corpus.text(name)
    if "vocabulary" in facts:
        facts.text("vocabulary", SHA256)
    for name in ("created", "topicmc"):
        if name in facts:
            facts.text(name)
    if "versions" in facts:
        facts.record("versions")


def check_complete(path: Path, facts: Any) -> None:
    """That ``run.json`` has what every reader needs."""
    facts = Record(path, facts)
    config, corpus = facts.record("config"), facts.record("corpus")
    config.whole("topics", least=2)
    for name in ("alpha", "beta"):
        config.number(name)
    config.text("sampler")
    corpus.text("fingerprint")
    corpus.text("path")


def check_samples(path: Path, index: Any, n_topics: int | None) -> None:
    """``samples/index.json``: each entry names a file of its folder, and a state of so many
    topics."""
    for entry in Record(path, index).records("samples"):
        entry.text("file", _SAMPLE)
        entry.text("checksum", SHA256)
        entry.whole("chain", most=MAX_WORKERS)
        entry.whole("round", most=_POSITION)
        if "burn_in" in entry:
            entry.flag("burn_in")
        if "position" in entry:
            entry.whole("position", most=_POSITION)
        if "beta" in entry:
            entry.number("beta", least=0)
        for name in ("alpha", "share"):
            if name in entry:
                entry.numbers(name, n_topics, least=0)


def check_line(path: Path, line: int, record: Any) -> None:
    """One line of ``metrics.jsonl`` or ``trace.jsonl``."""
    fields = Record(path, record, f"line {line}: ")
    fields.whole("position" if path.stem == "trace" else "round", most=_POSITION)
    for name in ("update", "documents", "tokens", "samples"):
        if name in fields:
            fields.whole(name)
    for name in ("seconds", "tokens_per_second", "beta"):
        if name in fields:
            fields.number(name, least=0)
    for name in ("perplexity", "perplexity_averaged"):
        if name in fields and record[name] is not None:
            fields.number(name, least=0)
    if record.get("log_likelihood") is not None:
        fields.numbers("log_likelihood")
    if "chains" in fields and path.stem == "trace":
        chains = fields.record("chains")
        for chain in chains.value:
            for value in chains.record(chain).value.values():
                if value is not None and type(value) not in (int, float):
                    raise DataError(f"{path}, line {line}: {shown(value)} is no number; remake it")


def check_theta(path: Path, theta: np.ndarray, shape: tuple[int | None, int | None]) -> np.ndarray:
    """``theta``, a state from ``path``: float32 (W, K), as in ``shape`` where that is known, and no
    number of it negative or none."""
    fits = theta.ndim == 2 and all(n in (m, None) for n, m in zip(shape, theta.shape, strict=True))
    if not fits or theta.dtype != np.float32:
        raise DataError(
            f"{path}: holds {theta.dtype} {theta.shape} in place of the weights of a run's words"
            " and topics; restore or remake it"
        )
    if not (theta.min(initial=0) >= 0 and np.isfinite(theta.max(initial=0))):  # NaN propagates
        raise DataError(f"{path}: holds weights that are no weights; restore or remake it")
    return theta
