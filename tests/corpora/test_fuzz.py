"""Damaged files of every format: a sound corpus or one sentence, no traceback, nothing left."""

import gzip
import tempfile
from pathlib import Path

import bags
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topicmc.corpora import prepare, verify
from topicmc.errors import TopicmcError

WRITTEN = [{0: 2, 3: 1}, {}, {1: 1, 2: 5, 9: 1}, {4: 3}, {0: 1, 9: 12}] * 3
places = st.floats(0, 1, exclude_max=True)
edits = st.lists(
    st.tuples(places, st.sampled_from(["set", "insert", "cut", "swap"]), st.binary(max_size=3)),
    min_size=1,
    max_size=3,
)


def damaged(raw: bytes, changes) -> bytes:
    for place, kind, new in changes:
        at = int(place * len(raw))
        if kind == "set":
            raw = raw[:at] + new + raw[at + len(new) :]
        elif kind == "insert":
            raw = raw[:at] + new + raw[at:]
        elif kind == "cut":
            raw = raw[:at]
        else:
            raw = raw[:at] + raw[at : at + 4][::-1] + raw[at + 4 :]
    return raw


@pytest.mark.parametrize("format", ["same", "auto"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(bags.WRITERS))
@given(changes=edits)
@settings(max_examples=25)
def test_damage(name, packed, format, changes):
    write, file = bags.WRITERS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        write(path, WRITTEN, 10)
        bags.write_vocabulary(path.with_name("vocab.txt"), 10)
        raw = path.read_bytes()
        path.write_bytes(damaged(gzip.compress(raw) if packed else raw, changes))
        output = Path(folder) / "out"
        try:
            prepare(path, output, format=name if format == "same" else "auto")
        except TopicmcError as error:
            assert error.exit_status in (2, 3)
            assert "\n" not in str(error)
            assert {p.name for p in Path(folder).iterdir()} == {file, "vocab.txt"}
        else:
            verify(output)
