"""Files that harm, with checksums that fit, and what every command must make of them."""

import hashlib
import io
import json
import resource
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy

from topicmc.corpora.index import content_fingerprint
from topicmc.storage.files import own_checksum

ROOM = 6 << 30  # bytes of address space that a command may take beyond what the tests have


@contextmanager
def frugal():
    """Whoever asks for a huge array in the block gets a MemoryError, and no machine suffers."""
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc").exists() else 0
    before = resource.getrlimit(resource.RLIMIT_AS)
    if pages:
        limit = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def refused(command, *arguments, where: str = "", but: str | None = None):
    """Runs a command: status 2 or 3, one sentence, no traceback, and nothing written ``but`` into a
    folder of this name."""
    before = surroundings(but)
    result = command(*arguments)
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    assert result.status in (2, 3), f"{where}: status {result.status}: {result.stderr[-500:]}"
    assert len(errors) == 1, f"{where}: {result.stderr}"
    assert "Traceback" not in result.stderr
    assert surroundings(but) == before, where
    return result


def surroundings(but: str | None) -> dict[str, str]:
    """Digests of all files around; what is noted of checked files apart."""
    here = Path().resolve()
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(here.parent.rglob("*"))
        if path.is_file()
        and path.name != ".checked.json"
        and (but is None or here / but not in path.parents)
    }


def digest(folder: Path, name: str) -> str:
    return hashlib.sha256((folder / name).read_bytes()).hexdigest()


def edit_index(corpus: Path, change) -> None:
    """Changes corpus.json, and makes every checksum in it right again where the files are there."""
    path = corpus / "corpus.json"
    index = json.loads(path.read_text())
    if change is not None:
        change(index)
    else:  # the arrays have changed
        for row in (*index["shards"], index["heldout"]):
            row["sha256"] = {a: digest(corpus / row["name"], f"{a}.npy") for a in row["sha256"]}
    if change is None:
        fingerprint = index["fingerprint"]
        index["fingerprint"] = content_fingerprint(index)
        adopt(corpus.parent / "run", fingerprint, index["fingerprint"])
    index["checksum"] = own_checksum(index)
    path.write_text(json.dumps(index))


def adopt(run: Path, old: str, new: str) -> None:
    """The run takes the corpus for its own."""
    path = run / "run.json"
    if path.is_file():
        edit_json(path, lambda facts: facts["corpus"].update(fingerprint=new))


def edit_json(path: Path, change) -> None:
    """Changes a JSON file, and its checksum of itself if it has one."""
    value = json.loads(path.read_text())
    changed = change(value)
    value = value if changed is None else changed
    if isinstance(value, dict) and "checksum" in value:
        value["checksum"] = own_checksum(value)
    path.write_text(json.dumps(value))


def write_npy(array) -> bytes:
    """A .npy file; of ``(array, shape)``, with a header that claims another shape."""
    array, shape = array if isinstance(array, tuple) else (array, None)
    if array.dtype == object:
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=True)
        return stream.getvalue()
    stream = io.BytesIO()
    header = npy.header_data_from_array_1_0(np.asarray(array, order="C"))
    npy.write_array_header_1_0(stream, header | ({"shape": shape} if shape else {}))
    stream.write(array.tobytes())
    return stream.getvalue()


def write_npz(path: Path, arrays, packed: bool = False) -> None:
    """A .npz file of arrays as `write_npy` takes them; ``packed``: compressed."""
    with ZipFile(path, "w", ZIP_DEFLATED if packed else ZIP_STORED) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", write_npy(array))
