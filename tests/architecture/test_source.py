"""Laws of the source that no linter knows: what may import what, what may print, and how long a module may be."""

from __future__ import annotations

import ast
import io
import re
import sys
import zipfile
from pathlib import Path

import pytest

from stackproof.compat.driver_twin.ask import QUESTION
from stackproof.containers.inspecting.archive import pack_inspector

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("backends", "compat", "containers", "matrix")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FRAMEWORKS = {
    "on_torch": {"torch"},
    "on_tensorflow": {"tensorflow"},
    "on_jax": {"jax", "jaxlib"},
}
# What the library of Python 3.9 has.
STANDARD = sys.stdlib_module_names - {"annotationlib", "compression", "tomllib"}
# What runs in an image with the image's own Python, beside `backends`.
IN_IMAGES = ("containers/inside/", "containers/rendering/finish.py")
LONGEST_MODULE = 400
# Waivers of lint and types in product code. The number may fall; where it must rise, say why where you raise it. It was
# 60 before images: paths in a container look like this machine's, and imports wait until there is an engine.
MOST_WAIVERS = 70


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


def is_for_types(node: ast.ImportFrom, source: bytes) -> bool:
    """Say whether an import stands below `if TYPE_CHECKING`."""
    blocks = [block for block in ast.walk(ast.parse(source)) if isinstance(block, ast.If)]
    typed = [block for block in blocks if ast.unparse(block.test) == "TYPE_CHECKING"]
    return any(block.lineno < node.lineno <= (block.end_lineno or 0) for block in typed)


def newer_calls(tree: ast.AST) -> list[str]:
    """Return the calls that Python 3.9 does not know."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            words, called = {word.arg for word in node.keywords}, ast.unparse(node.func)
            if (called == "zip" and "strict" in words) or (called == "dataclass" and words & {"slots", "kw_only"}):
                found.append(f"line {node.lineno}: {called}({', '.join(map(str, words))}) is of Python 3.10")
    return found


IN_BACKENDS = [path for path in MODULES if name_of(path).startswith("backends/")]
IN_AN_IMAGE = [path for path in MODULES if name_of(path).startswith(IN_IMAGES)]


def test_there_is_something_to_look_at() -> None:
    assert len(MODULES) > 100
    assert len(IN_AN_IMAGE) > 10
    assert {path.relative_to(ROOT).parts[0] for path in MODULES} == set(PACKAGES)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_the_right_imports_the_left_and_never_back(path: Path) -> None:
    place = PACKAGES.index(path.relative_to(ROOT).parts[0])
    assert reached(path, tree_of(path)) <= set(PACKAGES[:place])


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_own_packages_are_imported_relatively(path: Path) -> None:
    assert not imported(tree_of(path)) & {*PACKAGES, "stackproof"}


@pytest.mark.parametrize("path", IN_BACKENDS, ids=name_of)
def test_what_runs_in_an_environment_needs_numpy_and_one_framework_only(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[1]
    assert imported(tree_of(path)) <= {*STANDARD, "numpy", *FRAMEWORKS.get(folder, ())}


@pytest.mark.parametrize("path", IN_AN_IMAGE, ids=name_of)
def test_what_looks_into_an_image_needs_the_standard_library_only(path: Path) -> None:
    assert imported(tree_of(path)) <= STANDARD


@pytest.mark.parametrize("path", [*IN_BACKENDS, *IN_AN_IMAGE], ids=name_of)
def test_what_runs_in_an_environment_is_python_3_9(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), name_of(path), feature_version=(3, 9))
    assert newer_calls(tree_of(path)) == []


def test_all_that_is_packed_to_run_in_an_image_obeys_its_laws() -> None:
    # The inspector takes modules of `compat` along, which have no such law otherwise.
    with zipfile.ZipFile(io.BytesIO(pack_inspector())) as archive:
        sources = {name: archive.read(name).decode() for name in archive.namelist()}
    assert any(name.startswith("stackproof/compat/doctor/") for name in sources)
    for name, source in {**sources, "the driver question": QUESTION}.items():
        tree = ast.parse(source, name, feature_version=(3, 9))
        assert imported(tree) <= STANDARD | {"stackproof"}, name
        assert newer_calls(tree) == [], name


def test_what_is_packed_to_run_in_an_image_is_all_there() -> None:
    with zipfile.ZipFile(io.BytesIO(pack_inspector())) as archive:
        names = set(archive.namelist())
        for name in names:
            folder = name.split("/")[:-1]
            for node in ast.walk(ast.parse(archive.read(name))):
                if isinstance(node, ast.ImportFrom) and node.level and not is_for_types(node, archive.read(name)):
                    above = [*folder[: len(folder) - node.level + 1], *(node.module or "").split(".")]
                    place = "/".join(part for part in above if part)
                    assert {f"{place}.py", f"{place}/__init__.py"} & names, f"{name}: {place} is not packed"


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
