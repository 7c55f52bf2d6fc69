"""What is built and installed: all of the tree, under the names it should have, and no more; and
which tests are slow."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import topicmc

ROOT = Path(__file__).parents[1]
PLACES = {"topicmc": "topicmc", "cli": "topicmc/cli", "corpora": "topicmc/corpora"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> zipfile.ZipFile:
    """A wheel built from a copy of the tree, without the network."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in PLACES:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", str(folder)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (folder / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_tree_under_its_installed_names(wheel):
    """A sub-package that pyproject.toml forgets, or one that claims a name of its own."""
    expected = {
        f"{installed}/{path.relative_to(ROOT / name)}"
        for name, installed in PLACES.items()
        for path in (ROOT / name).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed" or path.parent.name == "page"
    }
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == expected


def test_the_wheel_brings_the_command_the_licence_and_the_readme(wheel):
    info = f"topicmc-{topicmc.__version__}.dist-info"
    assert "topicmc = topicmc.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "the topicmc authors" in wheel.read(f"{info}/licenses/LICENSE").decode()
    metadata = wheel.read(f"{info}/METADATA").decode()
    assert (ROOT / "README.md").read_text(encoding="utf-8").strip() in metadata


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert topicmc.__version__ == version("topicmc") == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{topicmc.__version__}]" in changes
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {topicmc.__version__}\n" in citation


def test_importing_topicmc_imports_nothing_heavy():
    code = "import sys, topicmc; print(*{'numpy', 'numba', 'mpi4py'}.intersection(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_the_fast_tier_has_some_of_every_part():
    """Nor does `slow.txt` name a test twice, or one that there is not."""
    folder = ROOT / "tests"
    parts: dict[Path, list[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        names = re.findall(r"(?m)^def (test_\w+)", path.read_text(encoding="utf-8"))
        place = path.relative_to(folder)
        parts.setdefault(place.parent, []).extend(f"{place.as_posix()}::{name}" for name in names)
    slow = tuple((folder / "slow.txt").read_text(encoding="utf-8").split())
    assert [part for part, tests in parts.items() if all(t.startswith(slow) for t in tests)] == []
    tests = [test for part in parts.values() for test in part]
    for i, line in enumerate(slow):
        assert not line.startswith(slow[:i] + slow[i + 1 :]), f"{line}: a shorter line has it"
        of_cases = line.partition("[")[0]
        assert any(test.startswith(of_cases) for test in tests), f"{line}: there is no such test"
