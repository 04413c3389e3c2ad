"""Dockerfiles: what they say, read back as an engine reads them."""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import replace

import pytest
from dockerfiles import instructions, pairs, script_of
from hypothesis import given
from hypothesis import strategies as st
from image_parts import BASE, lock

from stackproof.compat.errors import InputError
from stackproof.containers.rendering.dockerfile import image_tag, render_image, render_layer, render_whole
from stackproof.containers.rendering.layers import plan_layers
from stackproof.containers.rendering.settings import ImageSettings

PLAIN = ImageSettings()
TORCH = lock("torch", "nvidia-cuda-runtime", "numpy", build="cu132")
LAYERS = plan_layers(TORCH, BASE, PLAIN)


def scripts(text: str) -> list[str]:
    return [script_of(rest)[1] for word, rest in instructions(text) if word == "RUN"]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_a_layer_is_one_step_on_its_parent_that_sees_its_files_and_leaves_none(layer) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - drawn above
    (first, parent), (second, rest) = instructions(render_layer(layer))
    assert (first, parent, second) == ("FROM", layer.parent, "RUN")
    options, script = script_of(rest)
    assert options == ["--mount=type=bind,source=in,target=/mnt"]
    assert subprocess.run(["/bin/sh", "-n", "-c", script], check=False).returncode == 0
    assert "rm -rf /opt/.make && /usr/bin/python3 -s -S /mnt/finish.py /opt/stack /opt" in script
    assert "http" not in script


def test_packages_are_installed_by_hash_from_the_context_only() -> None:
    (script,) = scripts(render_layer(LAYERS[-1]))
    (install,) = re.findall(r"/mnt/uv .* install .*", script)
    words = set(install.split())
    assert {"--offline", "--no-index", "--no-config", "--require-hashes", "--no-deps", "--only-binary"} <= words
    assert "-r /mnt/application.txt" in install


def test_no_dockerfile_needs_more_than_buildkit_of_2020() -> None:
    for text in (render_whole(TORCH, BASE, PLAIN), render_image(TORCH, BASE, PLAIN)):
        assert "# syntax" not in text
        assert "--network" not in text
        assert "<<" not in text
        assert {word for word, _ in instructions(text)} <= {
            *("FROM", "RUN", "ENV", "LABEL", "USER", "WORKDIR", "ENTRYPOINT", "CMD"),
        }


def test_the_whole_has_the_steps_of_the_layers_and_ends_as_the_image() -> None:
    whole = instructions(render_whole(TORCH, BASE, PLAIN))
    assert [rest for word, rest in whole if word == "FROM"] == [
        f"{BASE.reference} AS environment",
        "environment AS cuda",
        "cuda AS framework",
        "framework AS application",
        "application",
    ]
    assert [rest for word, rest in whole if word == "RUN"] == [
        rest for layer in LAYERS for word, rest in instructions(render_layer(layer)) if word == "RUN"
    ]
    image = instructions(render_image(TORCH, BASE, PLAIN))
    assert image[0] == ("FROM", LAYERS[-1].tag)
    assert whole[-len(image) + 1 :] == image[1:]


def test_an_image_runs_as_nobody_in_particular_with_its_own_python_first() -> None:
    said = instructions(render_image(TORCH, BASE, PLAIN))
    assert ("USER", "10001:10001") in said
    assert ("ENTRYPOINT", "[]") in said
    assert ("CMD", '["/opt/stack/bin/python"]') in said
    (path,) = [pairs(rest)["PATH"] for word, rest in said if word == "ENV" and rest.startswith("PATH=")]
    assert path.split(":")[0] == "/opt/stack/bin"
    assert "" not in path.split(":")


PRINTABLE = st.text(max_size=40).filter(str.isprintable)
EVIL = st.text(max_size=40) | st.sampled_from(
    ["a\nRUN id", "$(id)", "${PATH}", 'q"', "'", "\\", "a\\\nb", "# x", "<<EOF\nRUN id\nEOF", "a=b c=d", "\r", "é ü"]
)


@given(stack=EVIL, value=EVIL, name=EVIL)
def test_what_is_read_back_is_what_was_given_or_it_is_refused(stack: str, value: str, name: str) -> None:
    for held, settings in (
        (replace(TORCH, stack=stack), PLAIN),
        (TORCH, ImageSettings(labels={"org.example.x": value})),
        (TORCH, ImageSettings(labels={name: "x"})),
    ):
        try:
            text = render_image(held, BASE, settings)
        except InputError:
            continue
        said = instructions(text)
        assert [word for word, _ in said if word == "RUN"] == []
        labels = {key: value for word, rest in said if word == "LABEL" for key, value in pairs(rest).items()}
        assert labels["stackproof.stack"] == held.stack
        assert settings.labels.items() <= labels.items()
        assert len(said) == text.count("\n")


@given(interpreter=EVIL | EVIL.map("/usr/bin/".__add__))
def test_an_interpreter_is_one_word_of_the_script_or_refused(interpreter: str) -> None:
    try:
        layers = plan_layers(TORCH, replace(BASE, interpreter=interpreter), PLAIN)
    except InputError:
        return
    assert interpreter in [word for layer in layers for script in scripts(layer.body) for word in shlex.split(script)]


@given(stack=EVIL)
def test_the_name_of_an_image_is_one_whatever_the_stack_is_called(stack: str) -> None:
    held = replace(TORCH, stack=stack)
    assert re.fullmatch(r"stackproof/image:[A-Za-z0-9_.-]{1,120}", image_tag(held, "FROM x\n"))


def test_images_of_other_labels_have_other_names() -> None:
    texts = [render_image(TORCH, BASE, ImageSettings(labels={"org.example.x": value})) for value in ("a", "b")]
    assert image_tag(TORCH, texts[0]) != image_tag(TORCH, texts[1])
