"""Priors that are given: files of every kind, what they add to the base, and runs under them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import io, sparse
from trained import train

from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import DataError, UsageError
from topicmc.models.lda import jobs
from topicmc.models.lda.planning.defaults import default_beta
from topicmc.models.lda.priors.given import given_prior, read_alpha
from topicmc.models.lda.samples import alpha_of, samples_of
from topicmc.models.lda.settings import TrainConfig

WORDS = ["tea", "milk", "rain", "wind", "cup"]
WHOLE = np.array([[0.1, 0.5, 0.1, 2.0, 0.1], [3.0, 0.1, 0.2, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1, 7.0]])
LISTED = np.array([[0, 0.5, 0, 2.0, 0], [3.0, 0, 0.2, 0, 0], [0, 0, 0, 0, 7.0]])
TABLE = "word,topic,prior\nmilk,0,0.5\nwind,0,2\ntea,1,3\nrain,1,0.2\ncup,2,7\n"
ASKED = TrainConfig(beta=0.1)


def matrix_of(path, config=ASKED):
    """b (K, W) by the file, with the settings that follow from it."""
    config, given = given_prior(replace(config, topic_prior=str(path)), WORDS, 1000)
    assert given.n_rows == len(given.matrix.values)
    return config, config.beta + given.matrix.of(np.s_[:]).T


def written(folder, kind):
    path = folder / kind
    if kind == "whole.npy":
        np.save(path, WHOLE)
    elif kind == "whole.npz":
        np.savez_compressed(path, prior=WHOLE)
    elif kind == "whole.csv":
        np.savetxt(path, WHOLE, delimiter=",")
    elif kind == "whole.mtx":
        io.mmwrite(path, WHOLE)
    elif kind == "listed.npz":
        sparse.save_npz(path, sparse.coo_array(LISTED))
    elif kind == "listed.mtx":
        io.mmwrite(path, sparse.coo_array(LISTED))
    else:
        path.write_text(TABLE)
    return path


@pytest.mark.parametrize("kind", ["whole.npy", "whole.npz", "whole.csv", "whole.mtx"])
def test_files_of_all_priors(tmp_path, kind):
    config, b = matrix_of(written(tmp_path, kind), TrainConfig())
    np.testing.assert_allclose(b, WHOLE)
    assert (config.topics, config.beta) == (3, 0.1)


@pytest.mark.parametrize("kind", ["listed.npz", "listed.mtx", "listed.csv"])
def test_files_of_some_priors(tmp_path, kind):
    """The others have β: as it is given, even above what is listed, or that of the corpus."""
    path = written(tmp_path, kind)
    np.testing.assert_allclose(matrix_of(path)[1], WHOLE)
    config, b = matrix_of(path, TrainConfig(beta=0.4))
    np.testing.assert_allclose(b, np.where(LISTED > 0, LISTED, 0.4))
    assert config.beta == 0.2
    _, b = matrix_of(path, TrainConfig())
    np.testing.assert_allclose(b, np.where(LISTED > 0, LISTED, default_beta(5, 1000)))


def test_words_without_priors_of_their_own_share_a_row(tmp_path):
    np.savetxt(tmp_path / "a.csv", [], header="topic,word,prior\n1,tea,5", comments="")
    _, given = given_prior(replace(ASKED, topic_prior=str(tmp_path / "a.csv")), WORDS, 1000)
    assert given.matrix.values.shape == (2, 2) and given.matrix.words.tolist() == [0]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.txt", b"", "named .npy, .npz, .mtx or .csv"),
        ("gone.npy", None, "no such file"),
        ("a.npy", b"no array", "cannot be read as NPY"),
        ("b.npy", np.zeros((3, 5)), "a prior is a positive number"),
        ("c.npy", np.full((3, 5), np.nan), "a prior is a positive number"),
        ("d.npy", -np.ones((3, 5)), "a prior is a positive number"),
        ("i.npy", np.full((3, 5), 1e-46), "a prior is a positive number, from 1e-20"),
        ("e.npy", np.ones((3, 4)), "is 3 × 4, and the vocabulary has 5 words"),
        ("f.npy", np.ones(5), "cannot be read as NPY"),
        ("g.npy", np.ones((1, 5)), "is of 1 topic, and a topic model needs at least 2"),
        ("h.npy", np.array([["a"] * 5] * 3), "cannot be read as NPY"),
        ("a.npz", b"PK", "cannot be read as NPZ"),
        ("a.mtx", b"%%MatrixMarket nonsense", "cannot be read as MTX"),
        ("a.csv", b"topic,word,prior\n0,coffee,3\n", "row 2: coffee is not in the vocabulary"),
        ("b.csv", b"topic,word,prior\nx,tea,3\n", "row 2: x is no topic"),
        ("c.csv", b"topic,word,prior\n0,tea,3\n0,tea,4\n", "row 3: .* has that word already"),
        ("d.csv", b"topic,word,prior\n0,tea,much\n", "cannot be read as CSV"),
        ("k.csv", b"topic,word,prior\n0,tea,1,5\n", "row 2 has 4 cells, and the first line 3"),
        ("l.csv", b"topic,word,prior\n0,tea,1_5\n", "cannot be read as CSV"),
        ("m.csv", b"1_0,1,1,1,1\n1,1,1,1,1\n", "cannot be read as CSV"),
        ("e.csv", b"topic,word,prior\n", "it lists no priors"),
        ("f.csv", b"1,2\n3\n", "cannot be read as CSV"),
        ("g.csv", b"topic,word,prior\n1,tea,0\n", "a prior is a positive number"),
        ("i.csv", b"topic,word,prior\n99999999,tea,1\n", "has 100000000 rows"),
        ("b.npz", b"PK\3\4 and nothing", "cannot be read as NPZ"),
        ("j.csv", b"\xff\xfe\x00", "is no text in UTF-8"),
        ("h.csv", b"", "cannot be read as CSV"),
    ],
)
def test_a_file_of_anything_else_is_refused_in_a_sentence(tmp_path, name, content, told):
    path = tmp_path / name
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=told) as error:
        matrix_of(path, TrainConfig())
    assert str(error.value).startswith(f"--topic-prior {path}: ") and "\n" not in str(error.value)


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}] * 5] * 3, object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read as NPY"):
        matrix_of(tmp_path / "a.npy")


def test_what_does_not_go_together(tmp_path):
    path = written(tmp_path, "whole.npy")
    with pytest.raises(UsageError, match="is of 3 topics, and --topics is 4"):
        matrix_of(path, TrainConfig(topics=4))
    with pytest.raises(UsageError, match="--beta 0.1: .* says the prior of every topic and word"):
        matrix_of(path)
    with pytest.raises(UsageError, match="--learn both: with --topic-prior β is given"):
        TrainConfig(topic_prior="a.npy", learn="both")
    with pytest.raises(UsageError, match="--alpha has 2 numbers for 3 topics"):
        TrainConfig(alpha=[0.1, 0.2], topics=3)
    with pytest.raises(UsageError, match="--alpha 0.0 is out of range"):
        TrainConfig(alpha=[0.1, 0.0])


def test_alpha_is_a_number_a_list_or_a_file(tmp_path):
    assert read_alpha("0.25") == 0.25
    assert read_alpha("0.1,0.2,3") == [0.1, 0.2, 3]
    np.save(tmp_path / "a.npy", np.array([0.1, 2.0], np.float32))
    (tmp_path / "a.json").write_text(json.dumps([0.5, 2]))
    (tmp_path / "a.txt").write_text("0.5\n2\n")
    assert read_alpha(str(tmp_path / "a.npy")) == pytest.approx([0.1, 2])
    assert read_alpha(str(tmp_path / "a.json")) == read_alpha(str(tmp_path / "a.txt")) == [0.5, 2]
    for slip in ("many", 100 * "0.1," + "0.l", "0_1"):
        with pytest.raises(UsageError, match=f"--alpha {slip}: is no number, .* and no file"):
            read_alpha(slip)
    for name, number in (("alpha", 1e-46), ("alpha", [0.1, 1e-46]), ("beta", 1e-46)):
        with pytest.raises(UsageError, match=f"--{name} 1e-46 is out of range.* at least 1e-20"):
            TrainConfig(**{name: number})  # in float32 it is 0
    assert TrainConfig(alpha=1e-20, beta=1e-20).alpha == 1e-20
    for content in ('{"a": 1}', '["a"]', "[", "[[1, 2]]"):
        (tmp_path / "b.json").write_text(content)
        with pytest.raises(DataError, match=r"--alpha .*b\.json: cannot be read as α"):
            read_alpha(str(tmp_path / "b.json"))


@pytest.mark.parametrize("sampler", ["adlda", "scir"])
def test_a_run_under_given_priors(small_corpus, tmp_path, sampler):
    """They stay what they are, also where α is learned after them; a prior that outweighs the data
    shows in the topics, and a resumed run does not need the file any more."""
    b = np.full((3, 120), 0.05)
    b[1, 7] = 5000
    np.save(tmp_path / "b.npy", b)
    alpha = [0.1, 0.5, 2.0]
    config = TrainConfig(
        sampler=sampler, topic_prior=str(tmp_path / "b.npy"), alpha=alpha, seed=1, threads=1,
        epochs=12,
    )  # fmt: skip
    run, _ = train(config, small_corpus, tmp_path / "run")
    saved = run.facts()["config"]
    assert (saved["topics"], saved["beta"], saved["learn"]) == (3, 0.05, "none")
    for entry in samples_of(run):
        np.testing.assert_array_equal(alpha_of(run, entry), alpha)
        np.testing.assert_allclose(run.prior(entry["beta"]).matrix(), b)
        theta = run.read_sample(entry)
        assert theta[7, 1] / theta[:, 1].sum() > 0.3
    (tmp_path / "b.npy").unlink()
    train(config, small_corpus, tmp_path / "run", resume=True)


def test_a_command_with_a_base_above_given_priors_can_be_repeated(small_corpus, tmp_path):
    """The base becomes the least prior that is listed; --resume knows the one that was given."""
    prior = sparse.coo_array(([0.02, 5.0], ([0, 2], [7, 3])), shape=(3, 120))
    sparse.save_npz(tmp_path / "b.npz", prior)
    config = replace(ASKED, topic_prior=str(tmp_path / "b.npz"), epochs=2, threads=1)
    run, _ = train(config, small_corpus, tmp_path / "run")
    assert run.facts()["config"]["beta"] == 0.02
    jobs.resume(run.path, {"beta": 0.1}, LocalTransport(1), None)
    with pytest.raises(UsageError, match=r"--beta 0\.3: .* which --resume cannot change"):
        jobs.resume(run.path, {"beta": 0.3}, LocalTransport(1), None)


def test_priors_that_memory_cannot_hold(tmp_path, monkeypatch):
    """Which is seen before they are laid out."""
    path = written(tmp_path, "listed.csv")
    monkeypatch.setattr("topicmc.host.machine.available_memory", lambda: 300)
    with pytest.raises(UsageError, match="priors of 5 words in 3 topics need about"):
        matrix_of(path, TrainConfig(beta=0.3))
    monkeypatch.setattr("topicmc.models.lda.priors.given.available_memory", lambda: 100)
    with pytest.raises(DataError, match=r"it unfolds to \d+ B, and 100 B are free"):
        matrix_of(written(tmp_path, "whole.npz"))
