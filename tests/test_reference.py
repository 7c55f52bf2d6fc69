"""docs/reference.md is what the docstrings say today."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Protocol

import pytest

from topicmc import MatrixFactorization

SCRIPT = Path(__file__).parents[1] / "docs" / "reference.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("reference", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_would_be_written():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_all_that_is_public_explains_itself(script):
    for module, names in script.PUBLIC.items():
        for name in names:
            value = getattr(importlib.import_module(module), name)
            assert inspect.getdoc(value), f"{module}.{name} has no docstring"


def test_docstrings_become_lists_and_code(script):
    docstring = """Does a thing, by ``how``.

    Args:
        how: in one way,
            or another.
        *rest: everything else.

    Returns:
        float64 (K,).

        as it stands ``here``
    """
    assert script.markdown(docstring) == (
        "Does a thing, by `how`.\n\n"
        "**Args**\n\n- `how`: in one way,\n  or another.\n- `*rest`: everything else.\n\n"
        "**Returns**\n\nfloat64 (K,).\n\n    as it stands ``here``"
    )


def test_docstrings_in_the_style_of_numpy_become_lists_too(script):
    docstring = """A model.

    Parameters
    ----------
    n_components : int, default=10
        Number of topics,
        2 or more.
    random_state : int

    Examples
    --------
    >>> 1 + 1
    2
    """
    assert script.markdown(docstring) == (
        "A model.\n\n"
        "**Parameters**\n\n- `n_components`, int, default=10:\n  Number of topics,\n  2 or more.\n"
        "- `random_state`, int\n\n"
        "**Examples**\n\n```python\n>>> 1 + 1\n2\n```"
    )


def test_no_sentence_is_taken_for_a_parameter(script):
    text = script.markdown(MatrixFactorization.fit.__doc__)
    assert re.findall("(?m)^- `(.*?)`", text) == ["X", "y"]


def test_signatures_keep_defaults_and_leave_types_to_the_docstring(script):
    def call(phi: list, *, level: float = 0.9, how: str = "so") -> None: ...

    assert script._signature(call) == "(phi, *, level=0.9, how='so')"


def test_protocols_are_not_called(script):
    class Told(Protocol):
        """Who is told."""

    class Teller(Told):
        """Who tells."""

        def __init__(self, name: str) -> None: ...

    assert next(script._described("Told", Told)) == "### class `Told`"
    assert next(script._described("Teller", Teller)) == "### class `Teller(name)`"
