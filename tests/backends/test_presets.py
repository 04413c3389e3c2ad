"""Presets: the counts that were published, what is written beside them, and what a spec keeps of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stackproof.backends.errors import InputError
from stackproof.backends.model_sizes import elements
from stackproof.backends.presets import PRESETS
from stackproof.backends.reading import MODELS, read_spec, spec_from_dict
from stackproof.backends.spec import Bert, Resnet, Spec, Unet

# Of the models as their authors or libraries give them; docs/spec.md says whose, and of which parts.
PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "tinyllama-1.1b": 1_100_048_384,
    "llama-2-7b": 6_738_415_616,
    "llama-3-8b": 8_030_261_248,
    "mixtral-8x7b": 46_702_792_704,
    "bert-base-uncased": 109_514_298,
    "bert-large-uncased": 335_174_458,
    "vit-b/16": 86_567_656,
    "vit-b/32": 88_224_232,
    "vit-l/16": 304_326_632,
    "resnet-18": 11_689_512,
    "resnet-34": 21_797_672,
    "resnet-50": 25_557_032,
    "resnet-101": 44_549_160,
    "resnet-152": 60_192_808,
}
# The architecture of the paper, counted by hand from its figure 1.
COUNTED = {"unet-2015": 31_030_658}


PAGE = Path(__file__).parents[2] / "docs" / "spec.md"


def read(**model: Any) -> Spec:
    return read_spec({"model": model, "data": {"batch": 1}}, "run.toml", "run")


@pytest.mark.parametrize(("name", "count"), [*PUBLISHED.items(), *COUNTED.items()])
def test_a_preset_has_the_parameters_that_were_published(name: str, count: int) -> None:
    assert elements(read(preset=name).model) == count


def test_every_preset_but_the_tiny_ones_has_its_count_here() -> None:
    named = {name for presets in PRESETS.values() for name in presets if name != "tiny"}
    assert named == {*PUBLISHED, *COUNTED}


def test_the_page_names_every_preset_with_its_count() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| ([\d,]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    kinds = {name: kind for kind, presets in PRESETS.items() for name in presets}
    assert {name: (kind, int(count.replace(",", ""))) for name, kind, count in rows} == {
        name: (kinds[name], count) for name, count in {**PUBLISHED, **COUNTED}.items()
    }


def test_the_encoder_of_bert_has_its_published_parameters_without_the_head_and_with_a_pooler() -> None:
    """The encoder has 109,482,240: no head of masked tokens, but one more layer, the pooler."""
    model = read(preset="bert-base-uncased").model
    assert isinstance(model, Bert)
    width = model.width
    layer = width * width + width
    head = layer + 2 * width + model.vocabulary
    assert elements(model) - head + layer == 109_482_240


@pytest.mark.parametrize(("norm", "count"), [("none", 31_031_745), ("batchnorm", 31_037_633)])
def test_a_unet_of_coloured_images_and_one_class_has_the_parameters_of_known_ports(norm: str, count: int) -> None:
    assert elements(Unet(image=(3, 512, 512), channels=(64, 128, 256, 512, 1024), norm=norm, outputs=1)) == count


@pytest.mark.parametrize("kind", [kind for kind in MODELS if kind != "onnx"])
def test_every_kind_has_a_tiny_preset_of_its_defaults(kind: str) -> None:
    assert read(kind=kind, preset="tiny").model == MODELS[kind]()


@pytest.mark.parametrize("name", [*PUBLISHED, *COUNTED])
def test_a_spec_keeps_the_keys_and_not_the_name(name: str) -> None:
    spec = read(preset=name)
    assert "preset" not in spec.to_dict()["model"]
    assert spec_from_dict(spec.to_dict()) == spec
    assert read(**spec.to_dict()["model"]).digest == spec.digest


def test_a_written_key_wins_over_the_preset() -> None:
    model = read(preset="resnet-50", outputs=10, image=[3, 32, 32]).model
    expected = Resnet(
        image=(3, 32, 32), channels=(64, 128, 256, 512), blocks=(3, 4, 6, 3), outputs=10, block="bottleneck",
        stem="imagenet",
    )  # fmt: skip
    assert model == expected


@pytest.mark.parametrize(
    ("model", "where", "fragment"),
    [
        ({"preset": "gpt3"}, "model.kind", "missing"),
        ({"preset": "tiny"}, "model.kind", "missing"),
        ({"kind": "gpt", "preset": "gpt3"}, "model.preset", '"tiny", "gpt2", "gpt2-medium"'),
        ({"kind": "gpt", "preset": "resnet-50"}, "model.preset", 'not "resnet-50"'),
        ({"kind": "gpt", "preset": 2}, "model.preset", "not 2"),
        ({"preset": "gpt2", "heads": 5}, "model.width", "768 is no multiple of heads = 5"),
        ({"preset": "gpt2", "experts": 5}, "model.experts", 'set kind = "moe"'),
        ({"onnx": "model.onnx", "preset": "gpt2"}, "model.preset", "unknown key"),
    ],
)
def test_a_faulty_preset_is_named(model: dict[str, Any], where: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        read(**model)
    found = {fault.where: fault.what for fault in caught.value.faults}
    assert fragment in found[where]
