"""Files of ratings: what is read, and the sentence where one cannot be."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from topicmc.corpora.strings import Strings
from topicmc.errors import DataError, UsageError
from topicmc.export.factors import _texts
from topicmc.models.factors.data import RatingData
from topicmc.models.factors.rating_columns import Columns
from topicmc.models.factors.rating_files import _encoded, read_pairs, read_ratings

HEADED = "user,item,rating\n"


def zipped(text: str) -> bytes:
    """Packed without the time of day, which would be part of a test's name."""
    return gzip.compress(text.encode(), mtime=0)


@pytest.fixture
def file(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def cells(table):
    return [
        (table.user_ids[u], table.item_ids[i], float(r))
        for u, i, r in zip(table.users, table.items, table.values, strict=True)
    ]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (HEADED + "a,x,3\nb,y,4.5\n", {}, [("a", "x", 3), ("b", "y", 4.5)]),
        (
            "196\t242\t3\t881250949\n186\t302\t3\t891717742\n",
            {},
            [("196", "242", 3), ("186", "302", 3)],
        ),
        ("1::1193::5::978300760\n1::661::3::978302109", {}, [("1", "1193", 5), ("1", "661", 3)]),
        ("user;item;rating\na;x;3\n", {}, [("a", "x", 3)]),
        ("rating|user|item\n3|a|x\n", {"columns": Columns("user", "3", "1")}, [("a", "x", 3)]),
        (HEADED + '"a,b","say ""x""",4\n', {}, [("a,b", 'say "x"', 4)]),
        ('user,item,rating,text\na,x,3,"two\nlines"\nb,y,4,\n', {}, [("a", "x", 3), ("b", "y", 4)]),
        ("\ufeff" + HEADED + "ä,x,3\r\nb,y,4\r\n", {}, [("ä", "x", 3), ("b", "y", 4)]),
        (HEADED + "a,x,3\n\n,,\nb,y,4\n\n", {}, [("a", "x", 3), ("b", "y", 4)]),
        (zipped(HEADED + "a,x,3\n"), {}, [("a", "x", 3)]),
        (HEADED + "a,x,3\na,x,5\nb,x,1\n", {"duplicates": "mean"}, [("a", "x", 4), ("b", "x", 1)]),
        (HEADED + "a,x,3\nb,x,1\na,x,5\n", {"duplicates": "last"}, [("b", "x", 1), ("a", "x", 5)]),
        (HEADED + "a,x,3\na,x,5\n", {"duplicates": "keep"}, [("a", "x", 3), ("a", "x", 5)]),
        ("user, item, rating\n a, x y , 3\n , , \nb ,z, 4\n", {}, [("a", "x y", 3), ("b", "z", 4)]),
    ],
)  # fmt: skip
def test_what_is_read(file, content, options, expected):
    assert cells(read_ratings(file(content), **options)) == expected


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        ("", {}, "is empty"),
        (HEADED, {}, "holds no ratings"),
        (HEADED.strip(), {}, "holds no rows below its header"),
        (HEADED + "a,x,3\nb,y,4_5\n", {}, "line 3: the rating '4_5' is not a number"),
        (HEADED + "a,x,3\n\nb,y,good\n", {}, "line 4: the rating 'good' is not a number"),
        (HEADED + "a,x,nan\n", {}, "line 2: the rating 'nan' is not a number"),
        (HEADED + "a,x,1e99\n", {}, "line 2: the rating '1e99' is not a number"),
        (HEADED + "a,x,1e19\n", {}, "line 2: the rating '1e19' is not a number from -1e+18"),
        (HEADED + "a,x,\n", {}, "line 2: the rating is missing"),
        (HEADED + "a,x,3\n,y,4\n", {}, "line 3: the user is missing"),
        (HEADED + "a,x,3\nb,,4\n", {}, "line 3: the item is missing"),
        (HEADED + "a,x,3\nb,y\n", {}, "line 3: 2 columns, where 3 are expected"),
        (HEADED + "a,x,3\nb,y,4,5\n", {}, "line 3: 4 columns, where 3 are expected"),
        (HEADED + "a,x,3\nb,y,7\n", {"low": 1.0, "high": 5.0},
         "line 3: the rating 7 lies outside the scale from 1 to 5"),
        (HEADED + "a,x,3\nb,y,4\na,x,4\n", {},
         "line 4: the user 'a' has rated the item 'x' before, in line 2"),
        (HEADED + 'a,x,3\n"b,y,4\nc,z,5\n', {}, "line 3: 1 columns"),
        ('user,item,rating,time\na,x,3,"1\nb,y,4,2\n', {}, "a quotation mark is never closed"),
        (HEADED.encode() + b"a,\xff,3\n", {}, "line 2: not text in UTF-8"),
        (b"\xff\xfe1\x00,\x002\x00\n", {}, "not text in UTF-8"),
        ("user item rating\n", {}, "is one column"),
        ("user,item\na,x\n", {}, "has 2 columns, where user and item and rating are needed"),
        (b"PAR1 and no more", {}, "cannot be read as Parquet"),
        (zipped(HEADED + "a,x,3\n" * 999)[:-9], {}, "cut short or damaged"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_sentence(file, content, options, told):
    with pytest.raises(DataError, match="ratings.csv") as error:
        read_ratings(file(content), **options)
    assert told in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "columns", "told"),
    [
        (HEADED + "a,x,3\n", Columns("users"), "--user users: .* did you mean user"),
        (HEADED + "a,x,3\n", Columns(item="4"), "--item 4: .* no such column; there are user"),
        (HEADED + "a,x,3\n", Columns("item"), "one column cannot be two"),
        (",user,item,rating\n0,a,x,3\n", Columns(), "column 1 has no name.*--user, --item, --"),
        ("1,2,3\n", Columns("user"), "has no header; give the number of the column, 1 to 3"),
    ],
)  # fmt: skip
def test_columns_that_are_not_there(file, content, columns, told):
    with pytest.raises(UsageError, match=told):
        read_ratings(file(content), columns)


def test_no_other_word_says_what_to_do_with_duplicates(file):
    with pytest.raises(UsageError, match="--duplicates 'first' is not one of refuse, keep, last"):
        read_ratings(file(HEADED + "a,x,3\na,x,5\n"), duplicates="first")


def test_memory_that_a_file_was_read_into_is_given_back(file, monkeypatch):
    """Arrow is told to, when nothing is left of what it has read."""
    path = file(HEADED + "".join(f"u{n},x,3\n" for n in range(20_000)))
    pool, left = pa.default_memory_pool(), []
    before = pool.bytes_allocated()

    class Pool:
        def release_unused(self):
            left.append(pool.bytes_allocated() - before)

    monkeypatch.setattr(pa, "default_memory_pool", Pool)
    assert len(read_ratings(path).values) == 20_000
    assert len(left) == 1 and left[0] < 20_000


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            read_ratings(path)


def test_parquet(tmp_path):
    path = tmp_path / "ratings"
    columns = {"r": pa.array([3, 4], pa.int8()), "u": [7, 8], "i": ["x", "y"]}
    parquet.write_table(pa.table(columns), path)
    table = read_ratings(path, Columns("u", "i", "r"))
    assert cells(table) == [("7", "x", 3), ("8", "y", 4)]
    assert table.columns == ("u", "i", "r")
    parquet.write_table(pa.table({**columns, "u": [12345678901.0, 31.0]}), path)
    table = read_ratings(path, Columns("u", "i", "r"))
    assert cells(table) == [("12345678901", "x", 3), ("31", "y", 4)]
    with pytest.raises(UsageError, match="--delimiter ';': goes with text, and .* is Parquet"):
        read_ratings(path, Columns("u", "i", "r"), delimiter=";")
    for name, value, told in (
        ("u", [7, None], "row 2: the user is missing"),
        ("r", [3.0, None], "row 2: the rating is missing"),
        ("r", ["3", "good"], "row 2: the rating 'good' is not a number"),
        ("r", [b"3", b"\xff"], "row 2: the rating .* is not a number"),
        ("r", pa.array([1, 2], pa.timestamp("us", "No/where")), "holds timestamp.* not ratings"),
        ("u", [[1], [2]], "cannot be read as Parquet"),
        ("u", [7.0, None], "row 2: the user is missing"),
        ("u", [7.0, 1.5], "the column u holds numbers that are not whole; ids are text or whole"),
        ("r", [[1.0], [2.0]], "the column r holds list.* not ratings; name another by --rating"),
    ):
        parquet.write_table(pa.table({**columns, name: value}), path)
        with pytest.raises(DataError, match=told):
            read_ratings(path, Columns("u", "i", "r"))


def test_pairs_need_no_rating(file):
    table = read_pairs(file("user,item\na,x\na,x\nb,y\n"))
    assert [table.user_ids[u] for u in table.users] == ["a", "a", "b"]
    assert len(table.values) == 0


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("user,item,2024\na,x,1\n", Columns()),
        ("2024,user,item\n1,a,x\n", Columns("user", "item")),
        ("2024,user,item\n1,a,x\n", Columns("2", "3")),
        (",user,item\n0,a,x\n", Columns("user", "item")),
    ],
)
def test_a_header_may_hold_a_number_where_nothing_is_read(file, content, columns):
    table = read_pairs(file(content), columns)
    assert (table.user_ids, table.item_ids) == (["a"], ["x"])
    assert table.columns[:2] == ("user", "item")


def test_the_first_line_is_a_pair_where_an_id_is_a_number(file):
    table = read_pairs(file("a,7\nb,8\n"))
    assert (table.user_ids, table.item_ids) == (["a", "b"], ["7", "8"])


def test_what_is_held_out_depends_on_the_ids_alone(file):
    """Not on the order of the rows, nor on other ratings; about a fifth (within 5 deviations)."""
    generator = np.random.default_rng(0)
    every = [(f"u{n // 50}", f"i{n % 50}") for n in range(2500)]

    def heldout(pairs):
        lines = [f"{user},{item},3\n" for user, item in pairs]
        data = RatingData.of(read_ratings(file(HEADED + "".join(lines))), 0.2)
        ratings = data.testing
        return {
            (data.user_ids[u], data.item_ids[i])
            for u, i in zip(ratings.users, ratings.items, strict=True)
        }

    first = heldout(every)
    assert abs(len(first) - 500) < 5 * 20
    shuffled = [every[n] for n in generator.permutation(2500)]
    assert heldout(shuffled) == first
    assert heldout(every[:1000]) == first & set(every[:1000])


def test_nothing_left_to_train_on(file):
    with pytest.raises(DataError, match="none is left to train on"):
        RatingData.of(read_ratings(file(HEADED + "a,x,3\n")), 0.999999)


def test_ids_come_in_pieces_that_together_are_too_long_for_one_array():
    """More than 2 GiB of text: the same piece 33 times. Numbers go on from piece to piece."""
    pieces = pa.chunked_array([["b", "a"], [], ["a", "c", "b"]], pa.string())
    numbers, ids = _encoded(pieces, "user", str)
    assert numbers.tolist() == [0, 1, 1, 2, 0] and ids == ["b", "a", "c"]
    assert numbers.dtype == np.int32
    long = pa.array([f"{i:04}".ljust(1 << 14) for i in range(1 << 12)])
    numbers, ids = _encoded(pa.chunked_array([long] * 33), "user", str)
    assert len(ids) == 1 << 12 and np.array_equal(numbers, np.tile(np.arange(1 << 12), 33))


def test_ids_that_numpy_has_no_room_for_are_not_exported():
    for texts in ([*map(str, range(2000)), "x" * 20_000], ["a", "a\0"]):
        with pytest.raises(UsageError, match="use --to csv"):
            _texts(Strings.of(texts))
