"""stack.json and stack.toml: every field, and what is no field."""

from __future__ import annotations

import json

import pytest

from stackproof.compat.readers import read_inputs


def read(tables: object, name: str = "stack.json"):  # noqa: ANN201 - a description
    return read_inputs([(name, json.dumps(tables).encode())]).describe()


def texts(found, name: str) -> list[str]:  # noqa: ANN001 - a description
    return [known.text for known in found.known[name]]


def test_every_field_of_the_contract_is_read() -> None:
    found = read(
        {
            "os": "Ubuntu 22.04",
            "glibc": "2.35",
            "python": "3.11.6",
            "gpu": "A100",
            "compute_capability": "8.0",
            "driver": "550.54.15",
            "driver_cuda": "12.4",
            "cuda_toolkit": "12.1",
            "cudnn": "8.9.7",
            "nccl": "2.20.5",
            "env_vars": {"LD_LIBRARY_PATH": "/usr/lib"},
            "arch_list": ["sm_80"],
            "packages": {"torch": "2.1.0+cu121"},
        }
    )
    assert found.not_understood == ()
    assert texts(found, "cuda") == ["12.1"]
    assert texts(found, "torch") == ["2.1.0+cu121"]
    assert (found.env_vars, found.arch_list) == ({"LD_LIBRARY_PATH": "/usr/lib"}, ("sm_80",))


@pytest.mark.parametrize("version", ["*", "*+cu128", "2.*", ">=2.1", "2.1.0"])
def test_every_form_of_a_package_version_is_kept(version: str) -> None:
    assert texts(read({"packages": {"torch": version}}), "torch") == [version]


def test_a_list_is_contradicting_reports() -> None:
    found = read({"packages": {"torch": ["2.3.0+cu121", "2.0.1+cu118"]}})
    assert set(found.contradictions()) == {"torch"}


def test_values_in_words_are_read() -> None:
    found = read(
        {
            "driver": "550.163.01 / 570.158.01",
            "nccl": "loaded 2.28.9; system 2.28.3",
            "cuda_toolkit": "12.4 (12.4.131, conda)",
            "cudnn": "9.5.1 (system) and the torch 2.5.1 wheel copy",
            "gpu": "2x RTX 5880 Ada",
        }
    )
    assert texts(found, "driver") == ["550.163.01", "570.158.01"]
    assert texts(found, "nccl") == ["2.28.9", "2.28.3"]
    assert (texts(found, "cuda"), texts(found, "cudnn")) == (["12.4"], ["9.5.1"])
    assert texts(found, "gpu") == ["RTX 5880 Ada"]
    assert "conda" in found.origins


def test_a_linux_of_no_distribution_does_not_contradict_one_that_is_named() -> None:
    found = read_inputs(
        [("stack.json", b'{"os": "Linux x86_64"}'), ("a.txt", b"OS: Ubuntu 22.04 LTS (x86_64)")]
    ).describe()
    assert (texts(found, "os"), texts(found, "machine")) == (["Ubuntu 22.04 LTS"], ["x86_64"])


def test_notes_give_only_what_cannot_be_misread() -> None:
    found = read({"notes": "conda install; fabric manager 550.90.07; torch 2.0.1 worked"})
    assert texts(found, "nvidia-fabricmanager") == ["550.90.07"]
    assert found.origins == {"conda"}
    assert found.packages == frozenset()
    assert found.not_understood == ("stack.json: notes: conda install; fabric manager 550.90.07; torch 2.0.1 worked",)


def test_further_fields_are_read() -> None:
    found = read(
        {
            "packages": {"tensorflow": "2.15.1", "torchaudio": "*"},
            "extras": {"tensorflow": ["and-cuda"]},
            "arch_range": {"min": "8.0", "max": "12.0"},
            "built_against": {"jaxlib": {"cudnn": "8.6.0"}},
            "package_notes": {"torchaudio": "unpinned"},
        }
    )
    assert found.extras == {"tensorflow": {"and-cuda"}}
    assert found.arch_range == ("8.0", "12.0")
    assert found.built_against == (("jaxlib", "cudnn", "8.6.0"),)
    assert found.floating == {"torchaudio"}


def test_an_unknown_key_is_told_with_the_one_that_is_meant() -> None:
    found = read({"pyhton": "3.11", "glibc": "2.31"})
    assert found.not_understood == ("stack.json: pyhton: did you mean 'python'?",)


@pytest.mark.parametrize(
    "tables",
    [
        {"packages": 3, "glibc": None},
        {"packages": {"torch": {"version": "2.1"}}, "env_vars": []},
        {"arch_range": [1], "extras": {"a": {"b": 1}}, "gpu": [None, {}, True]},
        {"packages": {"": "1", "a b": "2", "ok": ["1", 2, 3.5, None]}},
        {"built_against": {"a": "b"}, "required": [1, "x", "y>=2"], "origins": "brew"},
    ],
)
def test_values_of_the_wrong_shape_are_told_and_do_no_harm(tables: object) -> None:
    read(tables)


def test_stack_toml_says_the_same() -> None:
    text = b'glibc = "2.31"\ndriver = "535.104.05"\n[packages]\ntorch = "2.1.0+cu121"\n'
    found = read_inputs([("stack.toml", text)]).describe()
    assert (texts(found, "glibc"), texts(found, "torch")) == (["2.31"], ["2.1.0+cu121"])


def test_a_cut_document_is_read_as_far_as_it_goes_and_says_so() -> None:
    found = read_inputs(
        [("stack.json", b'{\n"glibc": "2.31",\n"packages": {"torch": "2.1.0",\n"numpy": "1.2')]
    ).describe()
    assert texts(found, "glibc") == ["2.31"]
    assert texts(found, "torch") == ["2.1.0"]
    assert "stack.json: the JSON document is cut or broken at line" in found.not_understood[0]


def test_a_key_that_stands_twice_is_said() -> None:
    text = b'{"driver": "470.182.03", "driver": "550.54.15", "packages": {"torch": "2.1.0"}}'
    found = read_inputs([("stack.json", text)]).describe()
    assert texts(found, "driver") == ["550.54.15"]
    assert found.not_understood == (
        "stack.json:1: driver stands in one JSON object more than once; the last one is used",
    )


def test_a_value_that_is_whole_counts_where_the_document_is_cut() -> None:
    text = b'{"driver": "550.54.15", "packages": {"torch": "2.1.0", "numpy": "1.2'
    gathered = read_inputs([("stack.json", text)])
    described = gathered.describe()
    assert {name: str(known[0]) for name, known in described.known.items()} == {"driver": "550.54.15", "torch": "2.1.0"}
    assert any("cut" in line for line in described.not_understood)
    whole = read_inputs([("stack.json", text[: text.index(b', "numpy"')])]).describe()
    assert str(whole.known["torch"][0]) == "2.1.0"


@pytest.mark.parametrize("broken", ["python = = 3", 'gpu = "A100" "B200"', "packages = 3"])
def test_of_a_broken_toml_the_lines_that_are_whole_count_and_the_others_are_listed(broken: str) -> None:
    text = f'driver = "550.54.15"\n{broken}\n[packages]\ntorch = "2.1.0"\n'
    described = read_inputs([("stack.toml", text.encode())]).describe()
    assert str(described.known["driver"][0]) == "550.54.15"
    assert described.not_understood
    if "packages" not in broken:
        assert str(described.known["torch"][0]) == "2.1.0"
        assert any(broken in line for line in described.not_understood)
