"""What holds for every format: what is given must mean something, nothing else is overwritten, and
an export is there whole or not at all."""

import sys
from pathlib import Path

import pytest

from topicmc.errors import TopicmcError, UsageError
from topicmc.export import FORMATS, export
from topicmc.storage.staging import draft_of

FOLDERS = [format for format, kind in FORMATS.items() if kind.files]
FILES = [format for format, kind in FORMATS.items() if not kind.files]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_named_is_what_is_written(made, tmp_path, format):
    written = export(made.source(), format, tmp_path / "deep/er/topics")
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(written)
    assert all(path.stat().st_size for path in written)
    again = export(made.source(), format, str(tmp_path / "deep/er/topics"), force=True)
    assert again == written


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("npy", {"words": 3}),
        ("arviz", {"chain": 0}),
        ("npy", {"corpus": Path("corpus")}),
        ("gensim", {"threads": 2}),
    ],
)
def test_an_option_that_means_nothing(made, tmp_path, format, options):
    (name,) = options
    with pytest.raises(UsageError, match=f"--{name} does not go with --to {format}"):
        export(made.source(**options), format, tmp_path / "topics")
    assert not list(tmp_path.iterdir())


def test_several_runs_where_one_is_wanted(made, tmp_path):
    source = made.source()
    source.runs = source.runs * 2
    with pytest.raises(UsageError, match="several RUNs do not go with --to csv"):
        export(source, "csv", tmp_path / "topics.csv")


LIBRARIES = {
    "sklearn": ("sklearn.decomposition", "skops.io"),
    "pyldavis": ("pyLDAvis",),
    "arviz": ("arviz_base", "h5netcdf"),
}
MISSING = [(format, name) for format, names in LIBRARIES.items() for name in names]


@pytest.mark.parametrize(("format", "library"), MISSING)
def test_a_library_that_is_not_installed(made, tmp_path, monkeypatch, format, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UsageError, match=rf"{library}.*pip install 'topicmc\[export\]'"):
        export(made.source(), format, tmp_path / "topics")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", FOLDERS)
def test_force_leaves_other_folders_alone(made, tmp_path, format):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(UsageError, match="holds mine, which no export to"):
        export(made.source(), format, tmp_path, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("format", ["npy", "gensim"])
def test_the_current_folder_is_not_replaced(made, tmp_path, monkeypatch, format):
    """Whoever stands in it would see nothing of the export."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for path in (Path(), tmp_path):
        with pytest.raises(UsageError, match="is or holds the folder that you are in"):
            export(made.source(), format, path)
    assert list(tmp_path.iterdir()) == [tmp_path / "here"] and not list(Path().iterdir())


def test_an_export_takes_the_place_of_no_part_of_its_run(made):
    """But it may lie in the folder of the run."""
    run = made.source().runs[0]
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    for format, name, told in (
        ("jsonl", "metrics.jsonl", "is what is read"),
        ("pyldavis", "run.json", "is what is read"),
        ("pyldavis", "view.json", "is what is read"),
        ("csv", "samples/topics.csv", "lies in .*samples"),
    ):
        with pytest.raises(UsageError, match=told):
            export(made.source(), format, run.path / name, force=True)
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before


def test_force_leaves_nothing_of_an_older_export(made, tmp_path):
    """gensim puts large arrays beside the model; an old one must not go with a new model."""
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics/model.old.npy").write_text("old")
    export(made.source(), "gensim", tmp_path / "topics", force=True)
    names = {path.name for path in (tmp_path / "topics").iterdir()}
    assert "model" in names
    assert "model.old.npy" not in names


@pytest.mark.parametrize("format", ["npy", "csv"])
def test_what_fails_leaves_what_was_there(made, tmp_path, monkeypatch, format):
    place = tmp_path / "topics"
    written = export(made.source(), format, place)
    before = [path.read_bytes() for path in written]

    def fail(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(TopicmcError, match=r"topics: cannot be written \(Input/output error\)"):
        export(made.source(chain=1), format, place, force=True)
    with pytest.raises(TopicmcError, match="cannot be written"):  # and no folder made for it
        export(made.source(), format, tmp_path / "deep/er/topics")
    assert [path.read_bytes() for path in written] == before
    assert list(tmp_path.iterdir()) == [place]


def test_what_a_killed_export_had_put_aside_is_there_again(made, tmp_path):
    """One that was killed between the two renames: the next, without --force, finds the old."""
    place = tmp_path / "topics"
    written = export(made.source(), "npy", place)
    place.rename(draft_of(place).with_suffix(".old"))
    draft_of(place).mkdir()
    with pytest.raises(UsageError, match="topics: exists already; add --force"):
        export(made.source(), "npy", place)
    assert sorted(place.iterdir()) == sorted(written)
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_to_a_folder_is_followed(made, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    export(made.source(), "npy", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/phi.npy").is_file()
