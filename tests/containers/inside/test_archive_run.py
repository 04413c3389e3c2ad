"""The inspector as it is carried into an image: one file, run by a Python that knows nothing of stackproof."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import device_code
import pytest
from shared_libraries import build, cublas, cudart, cudnn, install, make_venv

from stackproof.containers.inspecting.archive import pack_inspector
from stackproof.containers.inspecting.document import read_document

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "carried" / "inspector.zip"
    path.parent.mkdir()
    path.write_bytes(pack_inspector())
    return path


def run(archive: Path, mode: str, request: dict[str, Any]) -> Any:
    asked = archive.with_name("request.json")
    asked.write_text(json.dumps(request))
    command = [sys.executable, "-I", archive, mode, asked]
    ended = subprocess.run(command, capture_output=True, check=False, cwd=archive.parent, timeout=120)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stderr == b""
    return json.loads(ended.stdout)


def test_it_is_the_same_bytes_each_time() -> None:
    assert pack_inspector() == pack_inspector()


def test_all_that_is_carried_is_python_3_9_and_of_the_standard_library(archive: Path) -> None:
    with zipfile.ZipFile(archive) as held:
        sources = {name: held.read(name).decode() for name in held.namelist()}
    assert len(sources) > 12
    for name, source in sources.items():
        tree = ast.parse(source, name, feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names, name
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").partition(".")[0] in {*sys.stdlib_module_names, "stackproof"}, name
            elif isinstance(node, ast.Call):
                words = {word.arg for word in node.keywords}
                assert not words & {"slots", "kw_only", "strict"}, f"{name}: line {node.lineno} is of Python 3.10"


def test_an_environment_with_every_fault_is_described(tmp_path: Path, archive: Path) -> None:
    root = tmp_path / "root"
    site = make_venv(root / "env")
    folder = site / "nvidia/cu13/lib"
    libraries = [
        build(folder / "libcudart.so.13", cudart(13020)),
        build(folder / "libcublas.so.13", cublas("cublas", 13, 4, 1)),
        build(site / "nvidia/cudnn/lib/libcudnn.so.9", cudnn(92600)),
        build(site / "nvidia/cudnn/lib/libcudnn_cnn.so.9"),
    ]
    install(site, "nvidia-things", "13.2.86", libraries)
    missing = build(tmp_path / "libmissing.so.1")
    code = device_code.container(device_code.entry(80), device_code.entry(90, device_code.PTX, header=80))
    torch = device_code.build(
        site / "torch/lib/libtorch_cuda.so",
        code * 4 + device_code.container(device_code.entry(90, flags=0x100011)),
        [missing],
    )
    install(site, "torch", "2.15.0", [torch])
    (root / "planted").write_text("x")
    (root / "planted").chmod(0o4777)
    found = run(archive, "inspect", {"root": str(root), "prefix": str(root / "env"), "sites": [str(site)]})
    document = read_document("an image", found)

    assert document["python"] == sys.version.split()[0]
    assert document["elf"]["files"] == 5
    assert document["elf"]["unresolved"] == [
        {"file": str(torch), "needs": "libmissing.so.1", "beside": None, "optional": None}
    ]
    assert {(one["soname"], one["owner"], one["version"], one["error"]) for one in document["libraries"]} == {
        ("libcudart.so.13", "nvidia-things", "13.2", None),
        ("libcublas.so.13", "nvidia-things", "13.4.1", None),
        ("libcudnn.so.9", "nvidia-things", "9.26.0", None),
        ("libcudnn_cnn.so.9", "nvidia-things", None, None),
    }
    assert document["architectures"] == {"torch": ["sm_80", "compute_90"]}
    assert document["kernels"] == {"torch": {"sm_80": 4, "compute_90": 4, "sm_90a": 1}}
    assert document["packages"] == {"nvidia-things": "13.2.86", "torch": "2.15.0"}
    assert document["setuid"] == document["world_writable"] == [str(root / "planted")]
    assert document["seconds"] > 0


def test_a_library_that_ends_its_process_is_told_and_the_others_are_asked(tmp_path: Path, archive: Path) -> None:
    site = make_venv(tmp_path / "root/env")
    bad = build(
        site / "a/libnccl.so.2", "#include <stdlib.h>\n__attribute__((constructor)) void end(void) { abort(); }"
    )
    good = build(site / "b/libcudart.so.13", cudart(13020))
    found = run(archive, "inspect", {"root": str(tmp_path / "root"), "prefix": "/none", "sites": [str(site)]})
    said = {one["path"]: (one["version"], one["error"]) for one in found["libraries"]}
    assert said[str(good)] == ("13.2", None)
    assert said[str(bad)][0] is None
    assert "signal 6" in said[str(bad)][1]


def test_parts_of_several_versions_lack_symbols(tmp_path: Path, archive: Path) -> None:
    site = make_venv(tmp_path / "root/env")
    graph = build(site / "libcudnn_graph.so.9", cudnn(92600))
    build(
        site / "libcudnn_cnn.so.9",
        "int newer_graph(void); int f(void) { return newer_graph(); }",
        [graph],
        "-rpath,$ORIGIN",
    )
    found = run(archive, "inspect", {"root": str(tmp_path / "root"), "prefix": "/none", "sites": [str(site)]})
    errors = {one["soname"]: one["error"] for one in found["libraries"]}
    assert errors["libcudnn_graph.so.9"] is None
    assert "newer_graph" in errors["libcudnn_cnn.so.9"]


def test_names_that_are_no_text_end_as_text(tmp_path: Path, archive: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a\udcff\nb").write_text("x")
    (root / "a\udcff\nb").chmod(0o666)
    found = run(archive, "inspect", {"root": str(root), "prefix": "/none", "sites": [str(root)]})
    assert found["world_writable"] == [f"{root}/a\\xff\\x0ab"]


def test_long_lists_are_cut_and_their_length_is_told(tmp_path: Path, archive: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(600):
        (root / f"{number}").touch()
        (root / f"{number}").chmod(0o666)
    found = run(archive, "inspect", {"root": str(root), "prefix": "/none", "sites": [str(root)]})
    assert (len(found["world_writable"]), found["cut"]) == (500, {"world_writable": 600})
