"""Words that belong together, joined: gensim's phrases (Mikolov et al. 2013, equation 6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from topicmc.corpora.parallel import WorkerProcesses
from topicmc.corpora.readers import Progress, Tally
from topicmc.corpora.readers.records import Batch, RecordReader, all_batches
from topicmc.corpora.text.tokenizer import Tokenizer
from topicmc.corpora.text.tokens import Plain, naming_rows, token_lists

# Words and pairs counted at a time, some 100 bytes each: beyond, the rarest are forgotten.
_MAX_COUNTS = 4_000_000


def learn_phrases(
    readers: Sequence[RecordReader],
    tokenizer: Tokenizer,
    stop: frozenset[str],
    tally: Tally,
    report: Progress,
) -> Any:
    """gensim's ``FrozenPhrases`` of all documents, by its own thresholds (five occurrences, score
    10). A phrase neither begins nor ends with a stop word; the words between two may be some."""
    from gensim.models.phrases import FrozenPhrases, Phrases

    model = Phrases(connector_words=stop, max_vocab_size=_MAX_COUNTS)
    split = partial(_split, readers[0].plain, readers[0].min_tokens, tokenizer)
    with WorkerProcesses() as processes:
        for documents in processes.map(split, all_batches(readers, tally), inline=2):
            model.add_vocab(documents)
            report(tally)
    return FrozenPhrases(model)


def _split(plain: Plain, min_tokens: int, tokenizer: Tokenizer, batch: Batch) -> list[list[str]]:
    """Words of each document that has so many."""
    with naming_rows(batch):
        documents = token_lists(batch.texts, plain, tokenizer)
    return [words for words in documents if words is not None and len(words) >= min_tokens]


def phrases_among(words: Iterable[str]) -> Any:
    """The same for the phrases of a vocabulary that is given; None when there are none.

    What stands within a phrase may be skipped when a phrase is looked for, as stop words are.
    """
    phrases = [word for word in words if "_" in word.strip("_")]
    if not phrases:
        return None
    from gensim.models.phrases import FrozenPhrases, Phrases

    within = frozenset(part for phrase in phrases for part in phrase.split("_")[1:-1])
    model = FrozenPhrases(Phrases(connector_words=within))
    model.phrasegrams = dict.fromkeys(phrases, model.threshold + 1)
    return model


def join_phrases(phrases: Any, words: Sequence[str]) -> list[str]:
    """The words in order, phrases joined by ``_``."""
    return [word for word, _ in phrases.analyze_sentence(words)]
