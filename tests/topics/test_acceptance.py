"""What is said of seed words: the same of a run and of a view that names its topics, and in memory
that does not grow with the samples."""

import tracemalloc

import numpy as np
from fake_runs import gamma_samples, make_run, topic_shapes

from topicmc.models.lda.run import TopicRun
from topicmc.topics.acceptance import seed_words
from topicmc.topics.editing import Edits, edit

N_WORDS, N_TOPICS = 60, 5


def test_seeded_topics_keep_their_numbers_in_a_view(tmp_path):
    """The second chain has made another subject of the seeded topic, which is found elsewhere."""
    shapes = topic_shapes(N_WORDS, N_TOPICS)
    word = f"word{int((shapes[:, 0] / shapes.sum(axis=1)).argmax()):03d}"
    generator = np.random.default_rng(2)
    samples = {
        chain: gamma_samples(shapes[:, order], 8, generator)
        for chain, order in enumerate(([0, 1, 2, 3, 4], [1, 0, 2, 3, 4]))
    }
    run = make_run(tmp_path / "run", samples, seeds={"sport": {word: 1.0}})
    view = edit(TopicRun.open(run.path), Edits(labels={2: "x"}), tmp_path / "view")
    assert view.view.orders[1].tolist() == [1, 0, 2, 3, 4]
    told = seed_words(run)
    assert [(seed.verdict, seed.accepting) for seed in told[0]] == [("cannot be told", 0.5)]
    assert seed_words(view) == told


def test_memory_does_not_grow_with_the_samples(tmp_path):
    """An array of all words and topics has 0.3 MB."""
    shapes = topic_shapes(400, 100)
    peaks = []
    for n in (4, 32):
        samples = {0: gamma_samples(shapes, n, np.random.default_rng(3))}
        run = make_run(tmp_path / str(n), samples, seeds={"all": {"word*": 1.0}})
        seed_words(run)  # loads what it needs
        tracemalloc.start()
        try:
            assert len(seed_words(run)[0]) == 400
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1e6
