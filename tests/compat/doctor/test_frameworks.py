"""Stand-ins laid out as the frameworks' wheels are; the texts that open libraries are cut from releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared_libraries import build, install

from stackproof.compat.doctor.frameworks import play_all
from stackproof.compat.doctor.installed import read_installed
from stackproof.compat.doctor.search import Process, System
from stackproof.compat.gather import Gathered

if TYPE_CHECKING:
    from pathlib import Path

PAIRS = """
    cuda_libs = {'cublas': 'libcublas.so.*[0-9]', 'cudnn': 'libcudnn.so.*[0-9]', 'cuda_runtime': 'libcudart.so.*[0-9]'}
"""
SOME = """
    with open("/proc/self/maps") as f: pass
    _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
"""
ALL = """
    with open("/proc/self/maps") as f: pass
    _preload_cuda_deps(required=False)
"""
JAX = """
  _load("cuda_runtime", ["libcudart.so.12"])
  _load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])
"""


def play(site: Path, *elsewhere: Path, cuda: str = "12.4") -> Process:
    installed = read_installed([site], Gathered())
    system = System(tuple(map(str, elsewhere)))
    ((_, _, process),) = play_all(installed, (site,), lambda: Process(system), {"tensorflow": cuda})
    return process


def brought(site: Path, package: str, name: str) -> Path:
    return build(site / "nvidia" / package / "lib" / name)


def write_torch(site: Path, text: str, *options: str) -> dict[str, Path]:
    libraries = {
        name: brought(site, package, name)
        for package, name in (
            ("cuda_runtime", "libcudart.so.12"),
            ("cublas", "libcublas.so.12"),
            ("cudnn", "libcudnn.so.9"),
            ("nvjitlink", "libnvJitLink.so.12"),
        )
    }
    folder = site / "torch" / "lib"
    build(folder / "libtorch_global_deps.so", "", [libraries["libcudart.so.12"]], *options)
    build(folder / "libtorch_cuda.so", "", libraries.values(), *options)
    (site / "torch" / "__init__.py").write_text(text)
    install(site, "torch", "2.5.0")
    return libraries


RPATHS = "-rpath," + ":".join(f"$ORIGIN/../../nvidia/{name}/lib" for name in ("cuda_runtime", "cublas", "cudnn"))


def paths(process: Process) -> dict[str, Path]:
    return {name: one.path.resolve() for name, one in process.names.items()}


def test_torch_gets_what_its_own_paths_name(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    libraries = write_torch(site, "", "--disable-new-dtags", RPATHS)
    build(other / "libcudnn.so.9")
    jit = build(other / "libnvJitLink.so.12")
    found = paths(play(site, other))
    assert found["libcudnn.so.9"] == libraries["libcudnn.so.9"]
    assert found["libnvJitLink.so.12"] == jit


def test_torch_opens_some_by_path_before_the_rest(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    libraries = write_torch(site, SOME, "--disable-new-dtags", RPATHS)
    build(other / "libnvJitLink.so.12")
    assert paths(play(site, other))["libnvJitLink.so.12"] == libraries["libnvJitLink.so.12"]


def test_torch_opens_all_by_path_where_it_always_does(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    libraries = write_torch(site, PAIRS + ALL, "--enable-new-dtags", RPATHS)
    build(other / "libcublas.so.12")
    assert paths(play(site, other))["libcublas.so.12"] == libraries["libcublas.so.12"]


def test_torch_opens_all_by_path_where_its_first_library_is_not_found(tmp_path: Path) -> None:
    site = tmp_path / "site"
    libraries = write_torch(site, PAIRS)
    process = play(site)
    assert paths(process)["libcudart.so.12"] == libraries["libcudart.so.12"]
    assert "libcudart.so.12" not in process.absent
    assert "libnvJitLink.so.12" in process.absent


def test_torch_gets_another_s_library_by_a_new_style_path(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    write_torch(site, "", "--enable-new-dtags", RPATHS)
    shadow = build(other / "libcudnn.so.9")
    assert paths(play(site, other))["libcudnn.so.9"] == shadow


def test_cudnn_s_parts_are_opened_by_name_the_graph_first(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    folder = site / "nvidia" / "cudnn" / "lib"
    graph = build(folder / "libcudnn_graph.so.9")
    build(folder / "libcudnn_adv.so.9", "", [graph], "--enable-new-dtags", "-rpath,$ORIGIN")
    main = build(folder / "libcudnn.so.9", "", [], "--disable-new-dtags", "-rpath,$ORIGIN")
    build(site / "torch" / "lib" / "libtorch_global_deps.so", "", [main], "-rpath,$ORIGIN/../../nvidia/cudnn/lib")
    install(site, "torch", "2.5.0")
    build(other / "libcudnn_graph.so.9")
    assert paths(play(site, other))["libcudnn_graph.so.9"] == graph


def test_jax_opens_its_list_by_path_and_the_rest_by_name(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    plugin = site / "jax_plugins" / "xla_cuda12"
    build(plugin / "xla_cuda_plugin.so", "", [], "--enable-new-dtags", "-rpath,$ORIGIN/../../nvidia/cudnn/lib")
    (plugin / "__init__.py").write_text(JAX)
    own = brought(site, "cublas", "libcublas.so.12")
    build(other / "libcublas.so.12")
    cudnn = build(other / "libcudnn.so.9")
    install(site, "jax-cuda12-pjrt", "0.10.2")
    process = play(site, other)
    assert paths(process)["libcublas.so.12"] == own
    assert paths(process)["libcudnn.so.9"] == cudnn
    assert process.absent["libnccl.so.2"] is None


def test_tensorflow_opens_by_name_the_libraries_of_its_cuda(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site / "tensorflow" / "libtensorflow_framework.so.2", "", [], "-rpath,$ORIGIN/../nvidia/cudnn/lib")
    build_info = site / "tensorflow" / "python" / "platform" / "build_info.py"
    build_info.parent.mkdir(parents=True)
    build_info.write_text("('cudnn_version', '9')")
    own = brought(site, "cudnn", "libcudnn.so.9")
    install(site, "tensorflow", "2.18.0")
    process = play(site)
    assert paths(process)["libcudnn.so.9"] == own
    assert "libcudart.so.12" in process.absent
    assert "libcudart.so.12" not in play(site, cuda="").absent


def test_frameworks_without_their_files_are_no_fault(tmp_path: Path) -> None:
    for name in ("torch", "tensorflow", "jax-cuda12-pjrt"):
        install(tmp_path, name, "1.0")
    installed = read_installed([tmp_path], Gathered())
    assert [own for _, own, _ in play_all(installed, (tmp_path,), lambda: Process(System()), {})] == [[], [], []]
