"""What the keys of the later built-in models allow of each other, and what each fault says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from stackproof.backends.errors import InputError
from stackproof.backends.reading import read_spec

if TYPE_CHECKING:
    from stackproof.backends.spec import Spec


def read(model: str) -> Spec:
    return read_spec(tomllib.loads(f"[model]\n{model}"), "run.toml", "run")


@pytest.mark.parametrize(
    ("model", "where", "fragment"),
    [
        ('kind = "llama"\nkey_heads = 3', "model.key_heads", "heads = 4 is no multiple of it"),
        ('kind = "llama"\nkey_heads = 3', "model.key_heads", "write 2, or change heads"),
        ('kind = "gpt"\nkey_heads = 8', "model.key_heads", "write 4"),
        ('kind = "llama"\nkey_heads = 0', "model.key_heads", "must be from 1 to"),
        ('kind = "llama"\nhidden = 0', "model.hidden", "must be from 1 to"),
        ('kind = "llama"\nwidth = 12', "model.width", "write 8 or 16, or change heads"),
        ('kind = "llama"\nrope_base = 0', "model.rope_base", "must be above 0"),
        ('kind = "llama"\nnorm = "layernorm"', "model.norm", 'set kind = "gpt" or "unet"'),
        ('kind = "gpt"\nposition = "learned"\nrope_base = 500', "model.rope_base", 'position = "learned": remove it'),
        ('kind = "moe"\nactive = 5', "model.active", "5 is more than experts = 4: write at most 4"),
        ('kind = "moe"\nexperts = 1', "model.experts", "must be from 2 to"),
        ('kind = "moe"\nbalance = -1', "model.balance", "at least 0"),
        ('kind = "bert"\nvocabulary = 2', "model.vocabulary", "must be from 3 to"),
        ('kind = "bert"\nwidth = 66', "model.width", "write 64 or 68, or change heads"),
        ('kind = "vit"\npatch = 3', "model.image[1]", "is cut into patches of 3: write a multiple of 3, such as 15"),
        ('kind = "unet"\nimage = [1, 16, 7]', "model.image[2]", "halved between the 2 channels entries"),
        ('kind = "unet"\nchannels = [4]', "model.channels", "must have 2 to 30 entries"),
        ('kind = "unet"\nnorm = "rmsnorm"', "model.norm", '"batchnorm" or "none"'),
        ('kind = "resnet"\nblock = "wide"', "model.block", '"basic" or "bottleneck"'),
        ('kind = "resnet"\nstem = "big"', "model.stem", '"plain" or "imagenet"'),
        ('kind = "cnn"\nstem = "plain"', "model.stem", 'set kind = "resnet"'),
        ('kind = "bert"\n[train]\nloss = "huber"', "train.loss", "a bert predicts tokens"),
        ('kind = "unet"\noutputs = 1', "model.outputs", "at least 2 classes"),
        ('kind = "vit"\n[data]\nkind = "pixels"', "data.kind", 'write "images"'),
        ('kind = "llama"\npreset = "llama-3-8b"', "data.batch", "makes a batch of"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(model: str, where: str, fragment: str) -> None:
    with pytest.raises(InputError) as caught:
        read(model)
    found = {fault.where: fault.what for fault in caught.value.faults}
    assert where in found
    assert fragment in found[where]


@pytest.mark.parametrize(
    "model",
    [
        'kind = "gpt"\nkey_heads = 1',
        'kind = "gpt"\nkey_heads = 4',
        'kind = "llama"\nkey_heads = 4',
        'kind = "moe"\nactive = 4',
        'kind = "bert"\nvocabulary = 3\ncontext = 1',
        'kind = "vit"\nimage = [1, 4, 4]',
        'kind = "unet"\nimage = [1, 2, 2]',
        'kind = "unet"\noutputs = 1\n[train]\nloss = "binary-cross-entropy"',
        'kind = "resnet"\nimage = [1, 1, 1]\nstem = "imagenet"',
    ],
)
def test_what_lies_on_the_edge_is_taken(model: str) -> None:
    read(model)


def test_a_bert_leaves_out_what_is_not_masked_unless_another_label_is_named() -> None:
    assert read('kind = "bert"').train.ignore_label == -1
    assert read('kind = "bert"\n[train]\nignore_label = -100').train.ignore_label == -100
    assert read('kind = "gpt"').train.ignore_label is None
