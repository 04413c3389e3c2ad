"""Matrices from tables and files: what is taken, and what each fault says."""

from __future__ import annotations

import sys
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackproof.compat.cell import Stack
from stackproof.compat.errors import InputError
from stackproof.matrix.config import Matrix, RunSettings, ThroughputSettings, load_matrix, read_matrix
from stackproof.matrix.expand import expand

if TYPE_CHECKING:
    from pathlib import Path

OWN_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SPECS = 'specs = ["a.toml", "b.toml"]\n'
AXES = '[axes]\ntorch = ["2.13.0", "2.15.0"]\njax = ["0.9.2"]\n'
BASE = SPECS + AXES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    (tmp_path / "b.toml").write_text('[model]\nkind = "gpt"\n', encoding="utf-8")
    return tmp_path


def read(folder: Path, text: str) -> Matrix:
    return read_matrix(tomllib.loads(text), folder / "fleet.toml")


def faults(folder: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert caught.value.exit_code == 2
    return [(fault.where, fault.what) for fault in caught.value.faults]


def test_what_is_left_out_has_its_default(folder: Path) -> None:
    matrix = read(folder, BASE)
    assert matrix.name == "fleet"
    assert [spec.name for spec in matrix.specs] == ["a", "b"]
    assert dict(matrix.axes) == {"torch": ("2.13.0", "2.15.0"), "jax": ("0.9.2",), "python": (OWN_PYTHON,)}
    assert dict(matrix.baseline) == {"torch": "2.13.0", "jax": "0.9.2"}
    assert (matrix.include, matrix.exclude) == ((), ())
    assert matrix.run == RunSettings("auto", 1, 600, 0, "auto", prune=True)
    assert matrix.throughput == ThroughputSettings(15, 0.3, 0.9)


def test_every_key_arrives(folder: Path) -> None:
    path = folder / "fleet.toml"
    path.write_text(
        'name = "mine"\n' + BASE + 'python = ["3.12", "3.9"]\nnumpy = ["2.4.6"]\n'
        '[baseline]\ntorch = "2.15.0"\n'
        '[[include]]\ntensorflow-cpu = "2.21.0"\n'
        '[[include]]\ntorch = "2.14.1"\npython = "3.14"\nscipy = "1.2"\nnumpy = "2.2.6"\n'
        '[[exclude]]\njax = "0.9.2"\nspec = "a"\npython = "3.9"\n'
        '[run]\ndevice = "cuda"\nthreads = 4\ntime_limit = 60\nmemory_limit = 2048\ntorch_backend = "cu126"\n'
        "prune = false\n"
        "[throughput]\nrounds = 0\nseconds = 1\nminimum_ratio = 1.0\n",
        encoding="utf-8",
    )
    matrix = load_matrix(path)
    assert (matrix.name, matrix.source) == ("mine", str(path))
    assert list(matrix.axes) == ["torch", "jax", "python", "numpy"]
    assert matrix.axes["python"] == ("3.12", "3.9")
    assert dict(matrix.baseline) == {"torch": "2.15.0", "jax": "0.9.2"}
    assert matrix.include == (
        Stack("tensorflow-cpu", "2.21.0", "3.12"),
        Stack("torch", "2.14.1", "3.14", (("numpy", "2.2.6"), ("scipy", "1.2"))),
    )
    assert matrix.exclude == ({"jax": "0.9.2", "spec": "a", "python": "3.9"},)
    assert matrix.run == RunSettings("cuda", 4, 60, 2048, "cu126", prune=False)
    assert matrix.throughput == ThroughputSettings(0, 1.0, 1.0)


def test_an_include_alone_makes_a_matrix(folder: Path) -> None:
    matrix = read(folder, SPECS + '[[include]]\ntorch = "2.14.1"\n')
    assert matrix.include == (Stack("torch", "2.14.1", OWN_PYTHON),)


@pytest.mark.parametrize("backend", ["auto", "default", "cpu", "xpu", "cu92", "cu132", "rocm6.4", "rocm6.2.4"])
def test_build_names_of_uv_are_taken(folder: Path, backend: str) -> None:
    assert read(folder, BASE + f'[run]\ntorch_backend = "{backend}"').run.torch_backend == backend


@pytest.mark.parametrize("name", ["torchx", "torch-geometric", "jaxlib", "numpy", "tensorflow-probability"])
def test_other_distributions_are_axes(folder: Path, name: str) -> None:
    assert read(folder, BASE + f'{name} = ["1.0"]').axes[name] == ("1.0",)


@pytest.mark.parametrize("version", ["2.13.0", "2.13", "2.13.0rc1", "1!2.0", "2.1.0+mine.1", "2.13.0.dev20260101"])
def test_normal_versions_are_taken(folder: Path, version: str) -> None:
    assert read(folder, SPECS + f'[axes]\ntorch = ["{version}"]').axes["torch"] == (version,)


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        # names of frameworks and components
        (SPECS, "axes", 'add one of jax, tensorflow, tensorflow-cpu, torch, such as torch = ["2.13.0"]'),
        (SPECS + '[axes]\nnumpy = ["2.2.6"]', "axes", "names no framework"),
        (BASE + 'pytorch = ["1.0"]', "axes.pytorch", "write torch"),
        (BASE + 'PyTorch = ["1.0"]', "axes.PyTorch", "write torch"),
        (BASE + 'tf = ["1.0"]', "axes.tf", "write tensorflow"),
        (BASE + 'tensorflow-gpu = ["1.0"]', "axes.tensorflow-gpu", "write tensorflow"),
        (BASE + 'tensorflow_cpu = ["1.0"]', "axes.tensorflow_cpu", "write tensorflow-cpu"),
        (BASE + 'torhc = ["1.0"]', "axes.torhc", "did you mean 'torch'?"),
        (BASE + 'jaxx = ["1.0"]', "axes.jaxx", "did you mean 'jax'?"),
        (BASE + 'tensorflw = ["1.0"]', "axes.tensorflw", "did you mean 'tensorflow'?"),
        (BASE + 'pyhton = ["3.11"]', "axes.pyhton", "did you mean 'python'?"),
        (BASE + 'python3 = ["3.11"]', "axes.python3", "write python"),
        (BASE + 'spec = ["a"]', "axes.spec", "specs are listed under the top-level key"),
        *[
            (BASE + f'{name} = ["12"]', f"axes.{name}", "not built yet")
            for name in ("cuda", "cudnn", "nccl", "gpu", "CUDA")
        ],
        (BASE + 'driver = ["550.54.15"]', "axes.driver", "under `image.drivers`"),
        *[(BASE + f'{name} = ["2.36"]', f"axes.{name}", "follows from `os`") for name in ("glibc", "libc")],
        (BASE + 'extras = ["cuda12"]', "axes.extras", "in an [[include]]"),
        (BASE + 'framework = ["torch"]', "axes.framework", "an [[include]] of several frameworks"),
        (BASE + 'Typing_Extensions = ["1.0"]', "axes.Typing_Extensions", "write typing-extensions"),
        (BASE + '"a b" = ["1.0"]', 'axes."a b"', "is no name of a Python distribution"),
        (BASE + '"numpy\\n" = ["1.0"]', 'axes."numpy\\n"', "is no name of a Python distribution"),
        (BASE + '"x; rm -rf ~" = ["1.0"]', 'axes."x; rm -rf ~"', "is no name of a Python distribution"),
        (BASE + '"numpy[extra]" = ["1.0"]', 'axes."numpy[extra]"', "is no name of a Python distribution"),
        (BASE + '"-r" = ["1.0"]', "axes.-r", "is no name of a Python distribution"),
        (BASE + '"\u017fcipy" = ["1.0"]', 'axes."\\u017fcipy"', "is no name of a Python distribution"),
        # values of axes
        (BASE + "numpy = []", "axes.numpy", "it is empty"),
        (BASE + 'numpy = "2.2.6"', "axes.numpy", 'put it in brackets, ["2.2.6"]'),
        (BASE + 'numpy = ["2.2.6", "2.4.6", "2.2.6"]', "axes.numpy[2]", "is in the list already"),
        (BASE + 'numpy = ["2.2", "2.2.0"]', "axes.numpy[1]", 'is in the list already, as "2.2"'),
        (BASE + "numpy = [2.1]", "axes.numpy[0]", 'put it in quotes, as "2.1"'),
        (BASE + "numpy = [2]", "axes.numpy[0]", 'put it in quotes, as "2"'),
        (BASE + "numpy = [true]", "axes.numpy[0]", "must be a version in quotes, not true"),
        (BASE + 'numpy = [">=2.1"]', "axes.numpy[0]", "without operators"),
        (BASE + 'numpy = ["2.*"]', "axes.numpy[0]", "is no exact version"),
        (BASE + 'numpy = [""]', "axes.numpy[0]", "is no exact version"),
        (BASE + 'numpy = ["2.1 --index-url x"]', "axes.numpy[0]", "is no exact version"),
        (BASE + 'numpy = ["v2.1"]', "axes.numpy[0]", 'write "2.1"'),
        (BASE + 'numpy = ["2.1\\n"]', "axes.numpy[0]", 'write "2.1"'),
        (BASE + 'numpy = ["2.1.RC1"]', "axes.numpy[0]", 'write "2.1rc1"'),
        (BASE + f'numpy = ["{"9" * 5000}"]', "axes.numpy[0]", "is no exact version"),
        (BASE + 'python = ["3.8"]', "axes.python[0]", "known are 3.9 to 3.14"),
        (BASE + 'python = ["3.15"]', "axes.python[0]", "known are 3.9 to 3.14"),
        (BASE + 'python = ["3.11.7"]', "axes.python[0]", 'write "3.11"'),
        (BASE + "python = [3.11]", "axes.python[0]", 'put it in quotes, as "3.11"'),
        (BASE + 'python = ["3.11", "3.11"]', "axes.python[1]", "is in the list already"),
        ("axes = 3\n" + SPECS, "axes", "write [axes]"),
        # specs
        (AXES, "specs", 'such as specs = ["gpt_tiny.toml"]'),
        ("specs = []\n" + AXES, "specs", "it is empty"),
        ('specs = "a.toml"\n' + AXES, "specs", 'put it in brackets, ["a.toml"]'),
        ("specs = [3]\n" + AXES, "specs[0]", "must be text in quotes"),
        ('specs = ["a.toml", "bb.toml"]\n' + AXES, "specs[1]", "did you mean 'b.toml'?"),
        ('specs = ["sub/a.toml"]\n' + AXES, "specs[0]", "did you mean 'a.toml'?"),
        ('specs = ["a.toml/a.toml"]\n' + AXES, "specs[0]", "no such file"),
        ('specs = ["a.toml", "a.toml"]\n' + AXES, "specs[1]", "is in the list already"),
        ('specs = ["a.toml", "./a.toml"]\n' + AXES, "specs[1]", 'is in the list already, as "a.toml"'),
        ('specs = ["\\u001b[31m"]\n' + AXES, "specs[0]", "cannot be printed"),
        # baseline
        (
            BASE + '[baseline]\ntorch = "2.14.0"',
            "baseline.torch",
            "is not in axes.torch: write one of its values, 2.13.0, 2.15.0",
        ),
        (BASE + '[baseline]\ntorch = "2.13"', "baseline.torch", "values, 2.13.0, 2.15.0"),
        (BASE + "[baseline]\ntorch = 2.13", "baseline.torch", "put it in quotes"),
        (BASE + '[baseline]\ntroch = "2.13.0"', "baseline.troch", "did you mean 'torch'?"),
        (BASE + '[baseline]\npython = "3.11"', "baseline.python", "no framework axis of this matrix"),
        # include
        (BASE + '[[include]]\npython = "3.11"', "include[0]", "names no framework"),
        (BASE + '[[include]]\ntorch = "2.1.0"\njax = "0.9.2"', "include[0].jax", "write another [[include]]"),
        (BASE + '[[include]]\npytorch = "2.1.0"', "include[0].pytorch", "write torch"),
        (BASE + '[[include]]\ntorch = "2.1.0"\ncuda = "13"', "include[0].cuda", "not built yet"),
        (BASE + '[[include]]\ntorch = "2.1.0"\ndriver = "550.54.15"', "include[0].driver", "under `image.drivers`"),
        (
            BASE + '[[include]]\ntorch = "2.1.0"\n' + "\n".join(f'package{n} = "1.0"' for n in range(32)),
            "include[0]",
            "at most 32 keys, not 33",
        ),
        (BASE + '[[include]]\ntorch = ["2.1.0"]', "include[0].torch", "must be a version in quotes, not a list"),
        (BASE + '[[include]]\ntorch = "2.1.0"\npython = "3.7"', "include[0].python", "known are 3.9 to 3.14"),
        (BASE + '[include]\ntorch = "2.1.0"', "include", "write [[include]]"),
        # exclude
        (BASE + "[[exclude]]", "exclude[0]", "drops every cell"),
        (BASE + '[[exclude]]\nnumpy = "2.2.6"', "exclude[0].numpy", "is no axis of this matrix"),
        (BASE + '[[exclude]]\nspecs = "a"', "exclude[0].specs", "did you mean 'spec'?"),
        (BASE + '[[exclude]]\ntorch = "2.13.1"', "exclude[0].torch", "did you mean '2.13.0'?"),
        (BASE + '[[exclude]]\nspec = "c"', "exclude[0].spec", 'the matrix has no spec "c"'),
        (BASE + "[[exclude]]\nspec = 1", "exclude[0].spec", "must be text"),
        (BASE + "[[exclude]]\ntorch = 2.13", "exclude[0].torch", "put it in quotes"),
        (BASE + '[[exclude]]\ntorch = "2.13.0"\njax = "0.9.2"', "exclude[0]", "matches no cell"),
        (
            BASE + 'numpy = ["2.2.6"]\n[[include]]\ntorch = "2.1.0"\n[[exclude]]\ntorch = "2.1.0"\nnumpy = "2.2.6"',
            "exclude[0]",
            "matches no cell",
        ),
        # settings
        (BASE + '[run]\ndevice = "gpu"', "run.device", '"auto", "cpu" or "cuda"'),
        (BASE + "[run]\nthreads = 0", "run.threads", "from 1 to 1024"),
        (BASE + "[run]\ntime_limit = 0", "run.time_limit", "from 1 to"),
        (BASE + "[run]\ntime_limit = 1.5", "run.time_limit", "must be an integer"),
        (BASE + "[run]\nmemory_limit = -1", "run.memory_limit", "from 0 to"),
        (BASE + '[run]\ntorch_backend = "cuda"', "run.torch_backend", "such as cu126"),
        (BASE + '[run]\ntorch_backend = "cpu; x"', "run.torch_backend", "such as cu126"),
        (BASE + '[run]\ntorch_backend = "cpu\\n"', "run.torch_backend", "such as cu126"),
        (BASE + "[run]\ntime_limt = 3", "run.time_limt", "did you mean 'time_limit'?"),
        (BASE + "[throughput]\nrounds = -1", "throughput.rounds", "from 0 to 1000"),
        (BASE + "[throughput]\nseconds = 0", "throughput.seconds", "above 0"),
        (BASE + "[throughput]\nseconds = inf", "throughput.seconds", "finite"),
        (BASE + "[throughput]\nminimum_ratio = 1.2", "throughput.minimum_ratio", "at most 1"),
        # the rest
        ("axis = 3\n" + BASE, "axis", "did you mean 'axes'?"),
        ('name = "a/b"\n' + BASE, "name", 'write "a_b"'),
        (
            BASE + "\n".join(f"{name} = {[f'{n}.0' for n in range(60)]}" for name in ("numpy", "scipy")),
            "axes",
            "make 21600 cells, more than 10000",
        ),
        (BASE + "\n".join(f'package{n} = ["1.0"]' for n in range(40)), "axes", "at most 32 axes, not 42"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(folder: Path, text: str, where: str, fragment: str) -> None:
    found = faults(folder, text)
    assert [place for place, _ in found] == [where]
    assert fragment in found[0][1]


def test_all_faults_of_the_matrix_and_its_specs_are_reported_each_under_its_file(folder: Path) -> None:
    (folder / "bad.toml").write_text('[model]\nkind = "gpt"\nwidth = 65\n[train]\nsteps = 0', encoding="utf-8")
    (folder / "worse.toml").write_text("[model\n", encoding="utf-8")
    path = folder / "fleet.toml"
    path.write_text(
        'specs = ["bad.toml", "gone.toml", "worse.toml"]\n[axes]\ntorch = []\ncuda = ["13"]\n'
        '[[exclude]]\nspec = "whatever"\n[run]\nthreads = 0\n',
        encoding="utf-8",
    )
    with pytest.raises(InputError) as caught:
        load_matrix(path)
    places = [line.removeprefix(f"{folder}/").split(": ")[:2] for line in str(caught.value).splitlines()]
    assert places == [
        ["fleet.toml", "specs[1]"],
        ["fleet.toml", "axes.torch"],
        ["fleet.toml", "axes.cuda"],
        ["fleet.toml", "run.threads"],
        ["bad.toml", "model.width"],
        ["bad.toml", "train.steps"],
        ["worse.toml", "line 1, column 7"],
    ]


def test_two_specs_of_one_name_are_refused(folder: Path) -> None:
    (folder / "c.toml").write_text('name = "a"\n[model]\nkind = "mlp"\n', encoding="utf-8")
    assert faults(folder, 'specs = ["a.toml", "c.toml"]\n' + AXES) == [
        ("specs[1]", 'a spec before it has the name "a" too: give one of the files another `name`')
    ]


def test_a_missing_matrix_file_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"gone\.toml: no such file"):
        load_matrix(folder / "gone.toml")


TOP = ["name", "specs", "axes", "baseline", "include", "exclude", "run", "throughput", "image", "bases"]
INNER = ["torch", "jax", "python", "numpy", "cuda", "pytorch", "spec", "device", "threads", "rounds", "torch_backend"]
KEYS = st.sampled_from([*TOP, *INNER, "os", "extras", "framework", "packages", "labels", "drivers"])
WORDS = st.sampled_from(
    ["a.toml", "b.toml", "a", "2.13.0", "0.9.2", "3.11", "cpu", "auto", "1.0", "debian:bookworm", "torch", "cuda12"]
)
SCALARS = st.one_of(
    st.integers(), st.integers(0, 20), st.floats(), st.booleans(), st.text(max_size=5), WORDS, st.dates(), st.none()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(WORDS, min_size=1, max_size=3, unique=True),
        st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=5),
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=8)


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("specs")
    (folder / "a.toml").write_text('[model]\nkind = "mlp"\n', encoding="utf-8")
    (folder / "b.toml").write_text("[model]\n", encoding="utf-8")
    return folder


@settings(max_examples=300, deadline=None, database=None)
@given(TABLES)
@example({"specs": ["a.toml"], "axes": {"torch": ["2.13.0"]}, "exclude": [{"spec": "a"}]})
@example({"specs": ["a.toml"], "axes": {"torch": [10**5000]}})
@example({"specs": ["\0", "x" * 5000, "", "."]})
def test_arbitrary_tables_make_a_matrix_or_an_input_error(module_folder: Path, tables: dict[str, Any]) -> None:
    caught: InputError | None = None
    try:
        cells = expand(read_matrix(tables, module_folder / "fleet.toml"))
    except InputError as error:
        caught, cells = error, []
    assert cells or (caught is not None and caught.faults and all(fault.what for fault in caught.faults))
