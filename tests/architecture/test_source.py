"""Laws of the source that no linter knows: what may import what, what may print, and how long a module may be."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("backends", "compat", "containers", "matrix")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FRAMEWORKS = {
    "on_torch": {"torch"},
    "on_tensorflow": {"tensorflow"},
    "on_jax": {"jax", "jaxlib"},
}
LONGEST_MODULE = 400
# Waivers of lint and types in product code. The number may fall; where it must rise, say why where you raise it.
MOST_WAIVERS = 60


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), name_of(path))


def imported(tree: ast.AST) -> set[str]:
    """Return the top-level names that a module imports absolutely, wherever in the module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def reached(path: Path, tree: ast.AST) -> set[str]:
    """Return which of the four packages a module imports from, relatively, by its own place."""
    found = set()
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            assert node.level <= depth, "a relative import leaves the four packages"
            if node.level == depth:
                names = [node.module.partition(".")[0]] if node.module else [alias.name for alias in node.names]
                found |= set(names)
    return found - {"__version__"}


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 100
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_right_imports_the_left_and_never_back(path: Path) -> None:
    place = PACKAGES.index(path.relative_to(ROOT).parts[0])
    assert reached(path, tree_of(path)) <= set(PACKAGES[:place])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_own_packages_are_imported_relatively(path: Path) -> None:
    assert not imported(tree_of(path)) & {*PACKAGES, "stackproof"}


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[len(ROOT.parts)] == "backends"], ids=name_of)
def test_what_runs_in_an_environment_needs_numpy_and_one_framework_only(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[1]
    allowed = {*sys.stdlib_module_names, "numpy", *FRAMEWORKS.get(folder, ())}
    assert imported(tree_of(path)) <= allowed


@pytest.mark.parametrize("path", [path for path in MODULES if path.parts[len(ROOT.parts)] == "backends"], ids=name_of)
def test_what_runs_in_an_environment_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), name_of(path), feature_version=(3, 9))
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Call):
            words = {word.arg for word in node.keywords}
            called = ast.unparse(node.func)
            assert not (called == "zip" and "strict" in words), f"line {node.lineno}: zip(strict=) is of Python 3.10"
            assert not (called == "dataclass" and words & {"slots", "kw_only"}), (
                f"line {node.lineno}: is of Python 3.10"
            )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_progress_and_the_command_line_print(path: Path) -> None:
    if name_of(path) == "matrix/progress.py" or name_of(path).startswith("matrix/cli/"):
        return
    calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    printing = [
        node.lineno for node in calls if ast.unparse(node.func) in {"print", "sys.stdout.write", "sys.stderr.write"}
    ]
    assert printing == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE


def test_waivers_stay_rare() -> None:
    marks = re.compile(r"#\s*(noqa|type:\s*ignore)")
    found = {name_of(path): len(marks.findall(path.read_text(encoding="utf-8"))) for path in MODULES}
    assert sum(found.values()) <= MOST_WAIVERS, {name: count for name, count in found.items() if count}


def test_every_waiver_has_its_reason() -> None:
    bare = re.compile(r"#\s*noqa(?!: [A-Z]+[0-9]+(, [A-Z]+[0-9]+)* - \S)|#\s*type:\s*ignore(?!\[[a-z-]+\] # \S)")
    lines = [
        f"{name_of(path)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if bare.search(line)
    ]
    assert lines == []
