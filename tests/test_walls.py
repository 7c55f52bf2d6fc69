"""Which folder may import which: arrows point down, and there is no circle. And how the messages of
errors end."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# From the top; a part may import those below it. Inside models/ and topics/ the order goes on.
ORDER = (
    "cli", "estimator", "report", "export", "topics.choose", "topics.compare", "topics",
    "inference", "models", "samplers", "engine", "corpora", "posterior", "storage", "host",
    "settings", "kernels", "errors",
)  # fmt: skip
LIGHT = {"topicmc", "topicmc.errors"}  # may be imported from anywhere
ERRORS = {
    "TopicmcError", "UsageError", "DataError", "DivergedError", "CutError", "CutShortError",
}  # fmt: skip


def modules() -> dict[str, Path]:
    """Every module of the program by its name."""
    places = {"topicmc": ROOT / "topicmc", "topicmc.cli": ROOT / "cli"}
    places["topicmc.corpora"] = ROOT / "corpora"
    found = {}
    for package, folder in places.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join([package, *parts]).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imports(name: str) -> set[str]:
    """The modules of the program that a module imports, wherever in its text."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & MODULES.keys()) or {node.module}
    return {module for module in found if module in MODULES}


def floor(module: str) -> int:
    """The place of a module in the order, counted from the top."""
    inside = module.removeprefix("topicmc.")
    for part in sorted(ORDER, key=len, reverse=True):
        if inside == part or inside.startswith(f"{part}."):
            return ORDER.index(part)
    raise AssertionError(f"{module} has no place in the order of the house")


@pytest.mark.parametrize("name", sorted(MODULES.keys() - LIGHT))
def test_no_import_runs_upward(name):
    up = [other for other in imports(name) - LIGHT if floor(other) < floor(name)]
    assert not up, f"{name} imports {up}, which lie above it"


def test_there_is_no_circle():
    state: dict[str, str] = {}

    def visit(name: str, path: list[str]) -> None:
        state[name] = "open"
        for other in sorted(imports(name) - LIGHT):
            assert state.get(other) != "open", f"a circle: {' -> '.join([*path, name, other])}"
            if other not in state:
                visit(other, [*path, name])
        state[name] = "done"

    for name in sorted(MODULES):
        if name not in state:
            visit(name, [])


def test_no_module_lies_loose():
    loose = {path.name for path in (ROOT / "topicmc").glob("*.py")}
    assert loose == {"__init__.py", "errors.py"}


@pytest.mark.parametrize(
    "folder", sorted({str(path.parent.relative_to(ROOT)) for path in MODULES.values()})
)
def test_every_folder_says_what_lives_there(folder):
    text = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text()))
    assert text and text.splitlines()[0].endswith(".")


def test_the_engine_knows_no_model():
    """Neither imports nor names of one: what the engine says holds for any."""
    words = ("topicmc.models", "topicmc.samplers", "topicmc.corpora", "perplexity", "topic_", "phi")
    for name, path in MODULES.items():
        if name.startswith("topicmc.engine"):
            text = path.read_text()
            assert not [word for word in words if word in text], name


def test_no_model_knows_another():
    """What several share lies beside their folders."""
    for name in MODULES:
        if name.startswith("topicmc.models.") and name.count(".") > 2:
            own = ".".join(name.split(".")[:3])
            others = {other for other in imports(name) if other.startswith("topicmc.models.")}
            foreign = {other for other in others if other.count(".") > 2} - {
                other for other in others if f"{other}.".startswith(f"{own}.")
            }
            assert not foreign, f"{name} imports {foreign}"


def test_the_order_names_every_part():
    assert {floor(name) for name in MODULES.keys() - LIGHT} == set(range(len(ORDER))) - {
        ORDER.index("errors")
    }


def errors(tree: ast.AST) -> list[ast.Call]:
    """Where errors for people are made, of one kind or another."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return [
        call
        for call in calls
        if ERRORS & {node.id for node in ast.walk(call.func) if isinstance(node, ast.Name)}
    ]


def ends(text: ast.expr) -> set[str]:
    """The last characters that a text may have, as far as they are written there."""
    if isinstance(text, ast.IfExp):
        return ends(text.body) | ends(text.orelse)
    if isinstance(text, ast.BinOp):
        return ends(text.right)
    if isinstance(text, ast.JoinedStr):
        return ends(text.values[-1])
    if isinstance(text, ast.FormattedValue):
        return ends(text.value)
    return {str(text.value)[-1:]} if isinstance(text, ast.Constant) else set()


def test_errors_end_without_a_full_stop():
    """Whoever prints one in a sentence of his own adds what it takes."""
    wrong = ast.parse('raise (DataError if x else UsageError)(f"{x}: no" + ("." if x else f"{x}"))')
    assert [ends(call.args[0]) for call in errors(wrong)] == [{"."}]
    for name, path in MODULES.items():
        calls = errors(ast.parse(path.read_text()))
        lines = [call.lineno for call in calls if "." in ends(call.args[0])]
        assert not lines, f"{name}, lines {lines}: a message ends in a full stop"
