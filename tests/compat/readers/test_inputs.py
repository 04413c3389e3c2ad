"""Real-looking dumps of every kind, read whole: what is understood of each, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackproof.compat.readers import read_inputs

SAMPLES = Path(__file__).parent / "samples"

# What each sample holds: component or package -> every value known of it.
HOLDS: dict[str, dict[str, list[str]]] = {
    "collect_env_2_1.txt": {
        "torch": ["2.1.0+cu121"],
        "driver": ["470.182.03"],
        "cuda": ["12.1"],
        "cudnn": ["8.9.7"],
        "gpu": ["NVIDIA A100-SXM4-80GB"],
        "glibc": ["2.31"],
        "python": ["3.11.6"],
        "os": ["Ubuntu 20.04.6 LTS"],
        "machine": ["x86_64"],
        "triton": ["2.1.0"],
    },
    "collect_env_conda.txt": {"torch": ["2.1.0+cu121"], "cuda": ["12.1"], "glibc": ["2.17"], "torchvision": ["0.16.0"]},
    "collect_env_cpu.txt": {"torch": ["2.13.0+cpu"], "glibc": ["2.36"], "machine": ["x86_64"], "python": ["3.11.7"]},
    "collect_env_vllm.txt": {
        "torch": ["2.7.0+cu128"],
        "vllm": ["0.9.1"],
        "cuda": ["12.8.1"],
        "driver": ["550.127.05"],
        "gpu": ["NVIDIA H100 80GB HBM3"],
        "nvidia-nccl-cu12": ["2.26.2"],
    },
    "conda_explicit.txt": {"torch": ["2.0.1+cu117"], "libstdcxx": ["12.2.0"], "python": ["3.10.8"]},
    "conda_export.txt": {"torch": ["1.12.1+cu113"], "cuda": ["11.3.1"], "python": ["3.9.16"]},
    "conda_info.txt": {"driver_cuda": ["12.2"], "glibc": ["2.35"]},
    "conda_list.txt": {
        "torch": ["2.1.0+cu121"],
        "torchvision": ["0.16.0+cu121"],
        "cuda": ["12.1"],
        "cudnn": ["8.9.2"],
        "libstdcxx": ["13.2.0"],
        "transformers": ["4.35.0"],
    },
    "Dockerfile": {
        "cuda": ["12.1.0"],
        "cudnn": ["8"],
        "os": ["Ubuntu 22.04"],
        "nccl": ["2.18.3"],
        "torch": ["2.1.0+cu121"],
        "torchvision": ["*+cu121"],
        "transformers": [">=4.35,<5"],
        "flash-attn": ["2.3.3"],
    },
    "dpkg.txt": {
        "cuda": ["12.2.2"],
        "cudnn": ["8.9.7"],
        "nccl": ["2.18.5"],
        "driver": ["535.161.08"],
        "glibc": ["2.35"],
        "nvidia-fabricmanager": ["535.161.08"],
    },
    "ds_report.txt": {"torch": ["2.1.2+cu121"], "deepspeed": ["0.12.6"], "cuda": ["11.8"]},
    "environment.yml": {"python": ["3.10.*"], "torch": ["2.1.0"], "cuda": ["12.1.*"], "numpy": [">=1.24,<2"]},
    "freeze.txt": {"torch": ["2.13.0+cpu"], "jax": ["0.10.2"], "ml-dtypes": ["0.6.0"]},
    "gb10.txt": {"gpu": ["NVIDIA GB10"], "compute_capability": ["12.1"], "torch": ["*"]},
    "jax_environment.txt": {"jax": ["0.4.30"], "jaxlib": ["0.4.30"], "driver_cuda": ["12.2"], "gpu": ["NVIDIA L4"]},
    "jax_environment_cpu.txt": {"jax": ["0.10.2"], "numpy": ["2.4.6"], "python": ["3.11.7"]},
    "mixed_issue.md": {
        "torch": ["2.4.0+cu121"],
        "torchvision": ["0.20.1+cu124"],
        "cuda": ["11.8"],
        "glibc": ["2.31"],
        "cudnn": ["9.1.0"],
        "xformers": ["*"],
    },
    "nvcc.txt": {"cuda": ["12.2"]},
    "nvidia_smi_470.txt": {
        "driver": ["470.182.03"],
        "driver_cuda": ["11.4"],
        "gpu": ["NVIDIA A100-SXM...", "Tesla T4"],
    },
    "nvidia_smi_580_mig.txt": {"driver": ["580.95.05"], "driver_cuda": ["13.0"], "gpu": ["NVIDIA H100 80GB HBM3"]},
    "nvidia_smi_l.txt": {"gpu": ["NVIDIA A100-SXM4-40GB"]},
    "nvidia_smi_q.txt": {"driver": ["535.54.03"], "driver_cuda": ["12.2"], "gpu": ["NVIDIA A100-SXM4-80GB"]},
    "nvidia_smi_query.csv": {
        "gpu": ["NVIDIA GeForce RTX 3090", "NVIDIA GeForce RTX 4090"],
        "driver": ["535.183.01"],
        "compute_capability": ["8.6", "8.9"],
    },
    "nvidia_smi_windows.txt": {"driver": ["555.99"], "driver_cuda": ["12.5"], "gpu": ["NVIDIA GeForce RTX 4050 ..."]},
    "os_release.txt": {"os": ["Ubuntu 22.04.3 LTS"]},
    "pip_conflict.txt": {"tensorflow": ["2.18.0"], "ml-dtypes": ["0.5.1"], "opt-einsum": ["3.4.0"]},
    "pip_list.json": {"torch": ["2.13.0+cpu"]},
    "pip_list.txt": {"torch": ["2.2.0"], "typing-extensions": ["4.9.0"], "my-trainer": ["0.1.0"]},
    "pip_list_cpu.txt": {"torch": ["2.13.0+cpu"], "scipy": ["1.17.1"]},
    "pip_show.txt": {"torch": ["2.13.0+cpu"], "numpy": ["2.4.6"]},
    "Pipfile.lock": {"torch": ["2.2.1"], "python": ["3.10"]},
    "poetry.lock": {"torch": ["2.3.0"], "numpy": ["1.26.4"]},
    "pylock.toml": {"torch": ["2.13.0"], "nvidia-cudnn-cu13": ["9.20.0.48"]},
    "requirements.txt": {
        "torch": ["2.6.0+cu124"],
        "torchvision": ["*+cu124"],
        "flash-attn": ["2.7.4+cu12torch2.6cxx11abiFALSE"],
        "jax": ["~=0.4.13"],
        "jaxlib": ["0.4.13"],
        "numpy": [">=1.26,<2.3"],
        "trainer": ["*"],
        "transformers": ["4.41.0"],
    },
    "tf_env.txt": {
        "tensorflow": ["2.5.0"],
        "cudnn": ["8.1.1"],
        "cuda": ["11.2"],
        "driver": ["460.80"],
        "python": ["3.8.10"],
        "glibc": ["2.29"],
    },
    "tf_issue.md": {
        "tensorflow": ["2.15.0"],
        "cuda": ["12.2"],
        "cudnn": ["8.9.4", "8.0.5"],
        "gpu": ["RTX 3060"],
        "os": ["Ubuntu 22.04"],
        "python": ["3.11"],
    },
    "transformers_env.md": {"transformers": ["4.41.2"], "torch": ["2.3.0+cu121"], "glibc": ["2.35"]},
    "unsupported_gpu.txt": {"gpu": ["NVIDIA GeForce RTX 5090"], "compute_capability": ["12.0"]},
    "uv.lock": {"torch": ["2.13.0"], "numpy": ["2.3.5"], "triton": ["3.7.1"]},
    "uv_export.txt": {"torch": ["2.13.0"], "triton": ["3.7.1"]},
    "xformers_warning.txt": {"torch": ["2.0.1+cu118"], "python": ["3.10.6"], "xformers": ["*"]},
}
# Samples whose every line is understood.
CLEAR = (
    "collect_env_2_1.txt collect_env_conda.txt collect_env_cpu.txt collect_env_vllm.txt conda_explicit.txt "
    "conda_export.txt "
    "conda_list.txt Dockerfile dpkg.txt environment.yml freeze.txt jax_environment.txt jax_environment_cpu.txt "
    "nvcc.txt "
    "nvidia_smi_470.txt nvidia_smi_580_mig.txt nvidia_smi_l.txt nvidia_smi_q.txt nvidia_smi_query.csv "
    "nvidia_smi_windows.txt "
    "os_release.txt pip_conflict.txt pip_list.json pip_list.txt pip_list_cpu.txt pip_show.txt Pipfile.lock "
    "requirements.txt"
)


def read_sample(name: str, data: bytes | None = None):  # noqa: ANN201 - a description
    return read_inputs([(name, data if data is not None else (SAMPLES / name).read_bytes())]).describe()


def test_every_sample_is_looked_at() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == set(HOLDS)


@pytest.mark.parametrize("name", HOLDS)
def test_a_sample_says_what_it_holds(name: str) -> None:
    found = {key: [known.text for known in values] for key, values in read_sample(name).known.items()}
    assert {key: found.get(key) for key in HOLDS[name]} == HOLDS[name]


@pytest.mark.parametrize("name", CLEAR.split())
def test_reports_of_a_known_form_are_understood_to_the_last_line(name: str) -> None:
    assert read_sample(name).not_understood == ()


@pytest.mark.parametrize("name", HOLDS)
def test_the_name_of_an_input_does_not_decide_its_kind(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    assert read_inputs([("standard input", data)]).describe().known.keys() == read_sample(name).known.keys()


@pytest.mark.parametrize("name", HOLDS)
def test_line_ends_encodings_colours_and_fences_change_nothing(name: str) -> None:
    text = (SAMPLES / name).read_text()
    plain = {key: [known.text for known in values] for key, values in read_sample(name).known.items()}
    for other in (
        text.replace("\n", "\r\n").encode(),
        text.encode("utf-16"),
        b"\xef\xbb\xbf" + text.encode(),
        f"```text\n{text}\n```\n".encode(),
        "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()).encode(),
    ):
        dressed = read_sample(name, other)
        assert {key: [known.text for known in values] for key, values in dressed.known.items()} == plain


def test_each_claim_says_where_it_was_read() -> None:
    claims = read_sample("collect_env_2_1.txt").claims
    assert [(claim.text, claim.where) for claim in claims["driver"]] == [("470.182.03", "collect_env_2_1.txt:24")]
    stack = read_inputs([("stack.json", b'{"packages": {"torch": "2.1.0"}}')]).describe()
    assert stack.claims["torch"][0].where == "stack.json: packages.torch"


def test_what_binaries_say_of_their_build_is_kept() -> None:
    assert ("xformers", "torch", "2.1.2+cu121") in read_sample("xformers_warning.txt").built_against
    assert ("tensorflow", "cudnn", "8.9.4") in read_sample("tf_issue.md").built_against
    assert ("deepspeed", "cuda", "12.1") in read_sample("ds_report.txt").built_against


def test_architectures_that_torch_names_are_kept() -> None:
    assert read_sample("unsupported_gpu.txt").arch_list[:2] == ("sm_50", "sm_60")
    assert read_sample("gb10.txt").arch_range == ("8.0", "12.0")


def test_origins_are_told_apart() -> None:
    assert "conda" in read_sample("conda_list.txt").origins
    assert "container" in read_sample("Dockerfile").origins
    assert read_sample("freeze.txt").origins == {"pip"}


def test_names_without_a_version_float_only_where_packages_are_asked_for() -> None:
    assert read_sample("Dockerfile").floating == {"torchvision"}
    assert read_sample("environment.yml").floating >= {"scipy", "deepspeed"}
    assert read_sample("requirements.txt").floating == {"torchvision"}
    reported = read_inputs([("standard input", b"torch\nGPU 0: NVIDIA GB10")]).describe()
    assert reported.floating == frozenset()


def test_a_lock_for_several_pythons_is_no_contradiction() -> None:
    lock = (SAMPLES / "uv.lock").read_bytes()
    alone = read_inputs([("uv.lock", lock)]).describe()
    assert alone.contradictions() == {}
    assert [known.text for known in alone.known["scipy"]] == ["*"]
    with_python = read_inputs([("uv.lock", lock), ("standard input", b"Python 3.11.7")]).describe()
    assert [known.text for known in with_python.known["scipy"]] == ["1.17.1"]
    assert "optax" not in with_python.packages


def test_several_inputs_describe_one_stack() -> None:
    found = read_inputs(
        [
            ("freeze.txt", b"torch==2.1.0"),
            ("env.txt", b"CUDA used to build PyTorch: 12.1\nOS: Ubuntu 20.04.6 LTS (x86_64)"),
        ]
    ).describe()
    assert [known.text for known in found.known["torch"]] == ["2.1.0+cu121"]


def test_contradicting_reports_stay_apart() -> None:
    found = read_inputs([("a.txt", b"torch==2.3.0+cu121"), ("b.txt", b"torch==2.0.1+cu118")]).describe()
    assert {known.text for known in found.contradictions()["torch"]} == {"2.3.0+cu121", "2.0.1+cu118"}


def test_nothing_gives_nothing() -> None:
    assert read_inputs([]).describe().is_empty
    assert read_inputs([("empty.txt", b"")]).describe().is_empty
