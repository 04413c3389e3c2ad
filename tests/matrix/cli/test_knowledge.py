"""The commands that answer from what is known: check, doctor, explain and facts."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stackproof.compat.pages import all_pages
from stackproof.compat.rules import all_rules
from stackproof.matrix import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*words: str) -> tuple[int, str, str]:
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def document(out: str) -> Any:
    return json.loads(out)


def test_a_driver_too_old_for_a_wheel_is_incompatible(run: Any, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0+cu121\nnumpy==1.26.4\n")
    code, out, err = run("check", str(freeze), "--driver", "470.182.03", "--json")
    said = document(out)
    assert code == 1
    assert err == ""
    assert list(said) == ["schema_version", "verdict", "findings", "stack", "not_understood"]
    assert said["verdict"] == "incompatible"
    (finding,) = [entry for entry in said["findings"] if entry["severity"] == "error"]
    assert finding["code"] == "SP101"
    assert set(finding["components"]) == {"driver", "torch"}
    # NVIDIA, minor version compatibility: CUDA 12.x starts on 525.60.13; torch 2.1.0 was published for CUDA 11.8 too.
    assert finding["fix"] == ["driver 525.60.13 or newer", "torch==2.1.0+cu118"]
    assert all(reason["source"] for reason in finding["because"])
    assert said["stack"]["torch"] == {"version": "2.1.0+cu121", "where": [f"{freeze}:1"]}
    assert said["stack"]["driver"] == {"version": "470.182.03", "where": ["--driver"]}


def test_the_same_wheel_runs_on_a_newer_driver(run: Any, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0+cu121\nnumpy==1.26.4\n")
    code, out, _ = run("check", str(freeze), "--driver", "535.104.05", "--json")
    assert (code, document(out)["verdict"]) == (0, "compatible")


def test_several_inputs_describe_one_environment(run: Any, tmp_path: Path) -> None:
    freeze, smi = tmp_path / "freeze.txt", tmp_path / "smi.txt"
    freeze.write_text("torch==2.1.0+cu121\n")
    smi.write_text("Driver Version: 470.182.03   CUDA Version: 11.4\n")
    code, out, _ = run("check", str(freeze), str(smi), "--json")
    assert code == 1
    assert document(out)["findings"][0]["code"] == "SP101"


def test_standard_input_is_read(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"torch==2.1.0+cu121\n")))
    code, out, _ = run("check", "-", "--driver", "470.182.03", "--json")
    assert (code, document(out)["verdict"]) == (1, "incompatible")


def test_an_option_replaces_what_the_input_says(run: Any, tmp_path: Path) -> None:
    stack = tmp_path / "stack.json"
    stack.write_text('{"driver": "470.182.03", "driver_cuda": "11.4", "packages": {"torch": "2.1.0+cu121"}}')
    assert run("check", str(stack), "--driver", "550.54.15")[0] == 0


def test_what_is_missing_leaves_it_open_and_is_no_success(run: Any, tmp_path: Path) -> None:
    stack = tmp_path / "stack.json"
    stack.write_text('{"driver": "550.54.15", "packages": {"torch": "*"}}')
    code, out, _ = run("check", str(stack), "--json")
    said = document(out)
    assert (code, said["verdict"]) == (1, "undetermined")
    assert any(finding.get("undetermined") and "torch" in finding["components"] for finding in said["findings"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--gpu", "A1000000"), "--gpu"),
        (("--driver", "new"), "--driver"),
        (("--python", ">=3"), "--python"),
        (("--driver", "5" * 10_000), "--driver"),
    ],
)
def test_a_wrong_option_is_named_with_its_mend(run: Any, tmp_path: Path, words: tuple[str, ...], named: str) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0\n")
    code, out, err = run("check", str(freeze), *words)
    assert (code, out) == (2, "")
    assert named in err


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello world, nothing here\n"])
def test_an_input_that_says_nothing_is_refused_with_what_to_give(run: Any, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.txt").write_bytes(content)
    code, out, err = run("check", str(tmp_path / "empty.txt"))
    assert (code, out) == (2, "")
    assert "pip freeze" in err
    assert "empty.txt" in err


def test_no_input_at_all_says_what_to_give(run: Any) -> None:
    code, _, err = run("check")
    assert code == 2
    assert "stack.json" in err


def test_people_see_the_verdict_first_and_the_way_on_last(run: Any, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0+cu121\n!! what is this\n")
    code, out, _ = run("check", str(freeze), "--driver", "470.182.03")
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("incompatible: 1 error")
    assert "driver 525.60.13 or newer" in out
    assert "what is this" in out
    assert lines[-1] == "stackproof explain SP101 says more."
    assert "\x1b" not in out


def test_escapes_in_an_input_do_not_reach_the_terminal(run: Any, tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0+cu121\n\x1b]0;owned\x07strange line\x1b[2J\n")
    _, out, _ = run("check", str(freeze))
    assert "\x1b" not in out
    assert "\x07" not in out


def test_a_file_name_does_not_reach_the_terminal_as_an_escape(run: Any) -> None:
    code, _, err = run("check", "\x1b[31mred\x1b[0m.txt")
    assert code == 2
    assert "red.txt: there is no such file" in err
    assert "\x1b" not in err


def test_a_wrong_word_does_not_reach_the_terminal_as_an_escape(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["check", "--\x1b[31mred"])
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("value", ["3", "311", "cp311"])
def test_a_python_without_its_minor_version_is_refused(run: Any, tmp_path: Path, value: str) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0\n")
    code, _, err = run("check", str(freeze), "--python", value)
    assert code == 2
    assert "write it as 3.11" in err


def test_of_an_input_that_says_nothing_the_lines_are_named(run: Any, tmp_path: Path) -> None:
    broken = tmp_path / "stack.toml"
    broken.write_text('[nothing]\nhello = "there\n\x1b[31mand more of it\n')
    code, _, err = run("check", str(broken))
    assert code == 2
    assert "[nothing]" in err
    assert "and more of it" in err
    assert "\x1b" not in err


def test_a_terminal_without_the_characters_of_an_input_shows_them_as_escapes(tmp_path: Path) -> None:
    freeze = tmp_path / "freeze.txt"
    freeze.write_text("torch==2.1.0\nthis line is \N{GREEK SMALL LETTER ALPHA} and beyond\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "stackproof", "check", str(freeze)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0
    assert b"\\u03b1" in done.stdout
    assert done.stderr == b""


def test_standard_input_that_was_never_there_says_nothing() -> None:
    shell = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "stackproof", "check", "-"]
    done = subprocess.run(shell, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"stackproof: standard input: nothing in it describes a stack")


def test_every_rule_is_explained(run: Any) -> None:
    for rule in all_rules():
        code, out, _ = run("explain", rule.code)
        assert code == 0
        assert out.startswith(f"# {rule.code}: {rule.title}")
        assert "Mend it" in out or "has to be done" in out


def test_a_code_is_found_in_any_case_and_a_near_one_is_offered(run: Any) -> None:
    assert run("explain", "sp101")[0] == 0
    code, _, err = run("explain", "SP110")
    assert code == 2
    assert "did you mean 'SP" in err


def test_all_rules_are_listed(run: Any) -> None:
    code, out, _ = run("explain")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == [rule.code for rule in all_rules()]
    code, out, _ = run("explain", "--json")
    assert [rule["code"] for rule in document(out)["rules"]] == [rule.code for rule in all_rules()]


def test_the_written_pages_are_those_of_the_rules() -> None:
    folder = ROOT / "docs" / "rules"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    assert written == all_pages(), "write them again: stackproof explain --write docs/rules"


def test_pages_are_written_where_asked(run: Any, tmp_path: Path) -> None:
    assert run("explain", "--write", str(tmp_path / "deep" / "rules"))[0] == 0
    assert {path.name for path in (tmp_path / "deep" / "rules").iterdir()} == set(all_pages())


def test_facts_of_a_release_have_source_date_and_confidence(run: Any) -> None:
    code, out, _ = run("facts", "show", "torch", "2.1.0", "--json")
    facts = document(out)["facts"]
    assert code == 0
    assert {fact["cuda"] for fact in facts if fact["table"] == "torch"} == {"11.8", "12.1"}
    assert all(fact["source"] and fact["date"] and fact["confidence"] for fact in facts)


def test_a_gpu_and_a_package_have_facts_too(run: Any) -> None:
    assert "8.0" in run("facts", "show", "A100")[1]
    assert "jax" in run("facts", "show", "flax")[1]


def test_facts_that_are_not_there_are_refused_with_a_near_name(run: Any) -> None:
    code, _, err = run("facts", "show", "torhc")
    assert code == 2
    assert "torch" in err
    assert run("facts", "show", "torch", "99")[0] == 2


def test_the_shipped_facts_have_no_faults(run: Any) -> None:
    code, out, _ = run("facts", "check", "--json")
    assert code == 0
    assert document(out)["faults"] == []


def test_doctor_reads_this_environment_without_importing_a_framework(run: Any) -> None:
    code, out, _ = run("doctor", "--json")
    said = document(out)
    assert code in {0, 1}
    assert said["stack"]["packaging"]["version"]
    assert said["stack"]["python"]["version"] == sys.version.split()[0]
    assert not {"torch", "jax", "tensorflow"} & set(sys.modules)


def test_doctor_names_an_environment_that_is_none(run: Any, tmp_path: Path) -> None:
    code, _, err = run("doctor", "--env", str(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
