"""Specs from tables: what is taken, and what each fault says."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackproof.backends.errors import InputError
from stackproof.backends.model_sizes import elements
from stackproof.backends.models.build import build_program
from stackproof.backends.reading import MODELS, read_spec, spec_from_dict
from stackproof.backends.spec import (
    Bert,
    Cnn,
    Data,
    Gpt,
    Llama,
    Mlp,
    Moe,
    Optimizer,
    Resnet,
    Schedule,
    Spec,
    Train,
    Unet,
    Vit,
)

GPT = '[model]\nkind = "gpt"\n'
MLP = '[model]\nkind = "mlp"\n'
CNN = '[model]\nkind = "cnn"\n'
RESNET = '[model]\nkind = "resnet"\n'


def read(text: str) -> Spec:
    return read_spec(tomllib.loads(text), "run.toml", "run")


def faults(text: str) -> list[tuple[str, str]]:
    with pytest.raises(InputError) as caught:
        read(text)
    assert caught.value.exit_code == 2
    assert caught.value.source == "run.toml"
    return [(fault.where, fault.what) for fault in caught.value.faults]


def test_only_the_kind_of_model_is_required() -> None:
    assert read(MLP).model == Mlp()
    assert read(CNN).model == Cnn()
    assert read(RESNET).model == Resnet()
    assert read(GPT).model == Gpt()


def test_every_key_arrives() -> None:
    spec = read(
        """
        name = "mine"
        model = {kind = "gpt", layers = 3, width = 24, heads = 2, context = 8, vocabulary = 5, hidden = 7,
                 norm = "layernorm", activation = "gelu", position = "learned", tied = false, bias = true,
                 key_heads = 1, dropout = 0.5}
        data = {kind = "tokens", batch = 3, noise = 0.25}
        optimizer = {kind = "adamw", lr = 1, betas = [0.5, 0], eps = 1e-6, weight_decay = 2, decay = "matrices",
                     groups = [{match = ["*.bias"], lr = 2}, {match = ["head.*"], weight_decay = 0}]}
        schedule = {kind = "cosine", warmup = 3, final = 0.5}
        train = {steps = 4, seed = 4294967295, precision = "float64", compile = false, mode = "graph-last",
                 clip_norm = 1, clip_value = 0.5, accumulate = 2, ema = 0.9, label_smoothing = 0.1, ignore_label = -1,
                 class_weights = [1, 2, 3, 4, 5]}
        """.replace(",\n", ",")
    )
    assert spec.to_dict() == {
        "schema_version": 1,
        "name": "mine",
        "model": {
            "kind": "gpt",
            "layers": 3,
            "width": 24,
            "heads": 2,
            "context": 8,
            "vocabulary": 5,
            "hidden": 7,
            "norm": "layernorm",
            "activation": "gelu",
            "position": "learned",
            "tied": False,
            "bias": True,
            "key_heads": 1,
            "rope_base": 10000.0,
            "dropout": 0.5,
        },
        "data": {"kind": "tokens", "batch": 3, "noise": 0.25},
        "optimizer": {
            "kind": "adamw",
            "lr": 1.0,
            "betas": [0.5, 0.0],
            "eps": 1e-6,
            "momentum": 0.0,
            "nesterov": False,
            "alpha": 0.99,
            "eps2": 1e-3,
            "decay_rate": 0.8,
            "clip_threshold": 1.0,
            "adamw": ["*embedding*", "head.*"],
            "weight_decay": 2.0,
            "decay": "matrices",
            "groups": [
                {"match": ["*.bias"], "lr": 2.0, "weight_decay": None},
                {"match": ["head.*"], "lr": 1.0, "weight_decay": 0.0},
            ],
        },
        "schedule": {"kind": "cosine", "warmup": 3, "final": 0.5, "start": 0.04, "power": 1.0, "cooldown": 0},
        "train": {
            "steps": 4,
            "seed": 4294967295,
            "precision": "float64",
            "compile": False,
            "mode": "graph-last",
            "loss": "cross-entropy",
            "clip_norm": 1.0,
            "clip_value": 0.5,
            "accumulate": 2,
            "ema": 0.9,
            "label_smoothing": 0.1,
            "ignore_label": -1,
            "class_weights": [1.0, 2.0, 3.0, 4.0, 5.0],
            "huber_delta": 1.0,
        },
    }


@pytest.mark.parametrize(("text", "kind"), [(GPT, "tokens"), (MLP, "vectors"), (CNN, "images"), (RESNET, "images")])
def test_data_fits_the_model_where_it_is_left_out(text: str, kind: str) -> None:
    assert read(text).data.kind == kind


def test_an_integer_counts_as_the_number_it_is() -> None:
    written_as_integer = read(MLP + "[optimizer]\nlr = 1\nweight_decay = 0")
    assert isinstance(written_as_integer.optimizer.lr, float)
    assert written_as_integer.digest == read(MLP + "[optimizer]\nlr = 1.0\nweight_decay = -0.0").digest


@pytest.mark.parametrize(
    ("text", "where", "fragment"),
    [
        ("", "model", 'add a [model] table with kind = "gpt", "llama", "moe", "bert", "vit", "mlp",'),
        ("[model]", "model.kind", '"cnn", "resnet" or "unet", or onnx = "my_model.onnx" for a model of your own'),
        ('model = "gpt"', "model", "write [model]"),
        ('[model]\nkind = "gtp"', "model.kind", '"cnn", "resnet", "unet" or "onnx", not "gtp"'),
        ("[model]\nkind = 3", "model.kind", "not 3"),
        # names
        ('name = "a b"\n' + MLP, "name", 'write "a_b"'),
        ('name = "../up"\n' + MLP, "name", 'write "up"'),
        ('name = "run\\n"\n' + MLP, "name", 'write "run"'),
        ('name = ""\n' + MLP, "name", "cannot be a name"),
        (f'name = "{"x" * 65}"\n' + MLP, "name", "at most 64 characters"),
        ("name = 3\n" + MLP, "name", "must be text in quotes, not 3"),
        # unknown keys
        (MLP + "hiden = [3]", "model.hiden", "did you mean 'hidden'?"),
        (MLP + "[trian]\nsteps = 3", "trian", "did you mean 'train'?"),
        (MLP + "[train]\nsteps = 3\nprecison = 3", "train.precison", "did you mean 'precision'?"),
        (MLP + "[data]\nqqq = 3", "data.qqq", "known: batch, kind, noise"),
        ("steps = 3\n" + MLP, "steps", "belongs in [train]"),
        (MLP + "lr = 0.1", "model.lr", "belongs in [optimizer]"),
        (MLP + '"a.b" = 1', 'model."a.b"', "unknown key"),
        # keys of another kind
        (MLP + "heads = 4", "model.heads", 'set kind = "gpt"'),
        (CNN + 'activation = "relu"', "model.activation", 'set kind = "gpt" or "mlp"'),
        (MLP + "[optimizer]\nmomentum = 0.9", "optimizer.momentum", 'set kind = "muon" or "rmsprop" or "sgd"'),
        (
            MLP + '[optimizer]\nkind = "sgd"\nbetas = [0.9, 0.95]',
            "optimizer.betas",
            'set kind = "adam" or "adamw" or "lamb"',
        ),
        (MLP + '[optimizer]\nkind = "sgd"\neps = 1e-8', "optimizer.eps", "remove it"),
        (MLP + "[schedule]\nfinal = 0.1", "schedule.final", 'set kind = "linear" or "cosine"'),
        # types
        (GPT + "layers = true", "model.layers", "must be an integer, not true"),
        (GPT + "layers = 2.0", "model.layers", "write 2"),
        (GPT + "layers = 2.5", "model.layers", "must be an integer, not 2.5"),
        (GPT + 'layers = "2"', "model.layers", "drop the quotes"),
        (GPT + "tied = 1", "model.tied", "must be true or false, not 1"),
        (GPT + 'tied = "true"', "model.tied", 'must be true or false, not "true"'),
        (MLP + "[optimizer]\nlr = true", "optimizer.lr", "must be a number, not true"),
        (MLP + '[optimizer]\nlr = "3e-3"', "optimizer.lr", "drop the quotes"),
        (MLP + "[optimizer]\nlr = nan", "optimizer.lr", "finite number, not nan"),
        (MLP + "[optimizer]\nlr = inf", "optimizer.lr", "finite number, not inf"),
        (MLP + f"[optimizer]\nlr = 0x{'f' * 400}", "optimizer.lr", "an integer of 1600 bits"),
        (MLP + "[optimizer]\nlr = 2026-01-01", "optimizer.lr", "must be a number, not a date"),
        (MLP + "hidden = 64", "model.hidden", "put it in brackets, [64]"),
        (MLP + "hidden = [64, 0]", "model.hidden[1]", "must be from 1 to"),
        (CNN + "image = [16, 16]", "model.image", "must have exactly 3 entries, not 2"),
        (CNN + "channels = []", "model.channels", "it is empty"),
        (MLP + "data = []", "model.data", "unknown key"),
        # bounds
        (GPT + "layers = 0", "model.layers", "must be from 1 to 1000, not 0"),
        (GPT + "vocabulary = 1", "model.vocabulary", "must be from 2 to"),
        (GPT + "hidden = -1", "model.hidden", "must be from 0 to"),
        (GPT + f"width = 0x{'f' * 4000}", "model.width", "an integer of 16000 bits"),
        (MLP + "outputs = 0", "model.outputs", "must be from 1 to"),
        (MLP + "[data]\nbatch = 0", "data.batch", "must be from 1 to"),
        (MLP + "[data]\nnoise = 1.1", "data.noise", "must be from 0 to 1, not 1.1"),
        (MLP + "[optimizer]\nlr = 0", "optimizer.lr", "must be above 0, not 0"),
        (MLP + "[optimizer]\nlr = -0.1", "optimizer.lr", "must be above 0"),
        (MLP + "[optimizer]\neps = 0.0", "optimizer.eps", "must be above 0"),
        (MLP + "[optimizer]\nbetas = [0.9, 1.0]", "optimizer.betas[1]", "at least 0 and below 1, not 1.0"),
        (MLP + "[optimizer]\nbetas = [-0.1, 0.9]", "optimizer.betas[0]", "at least 0"),
        (MLP + "[optimizer]\nbetas = [0.9]", "optimizer.betas", "exactly 2 entries"),
        (MLP + "[optimizer]\nweight_decay = -1", "optimizer.weight_decay", "at least 0"),
        (MLP + '[optimizer]\nkind = "sgd"\nmomentum = 1.0', "optimizer.momentum", "below 1"),
        (MLP + "dropout = 1.0", "model.dropout", "at least 0 and below 1, not 1.0"),
        (GPT + "dropout = -0.1", "model.dropout", "at least 0 and below 1"),
        (MLP + "hidden = []\ndropout = 0.1", "model.dropout", "and there are none: remove it"),
        (RESNET + "stochastic_depth = 1", "model.stochastic_depth", "at least 0 and below 1, not 1"),
        (CNN + "dropout = 0.1", "model.dropout", "set kind"),
        (MLP + '[schedule]\nkind = "linear"\nfinal = 1.5', "schedule.final", "from 0 to 1"),
        (MLP + "[schedule]\nwarmup = -1", "schedule.warmup", "from 0 to"),
        (MLP + "[train]\nsteps = 0", "train.steps", "from 1 to"),
        (MLP + "[train]\nseed = -1", "train.seed", "from 0 to 4294967295"),
        (MLP + "[train]\nseed = 4294967296", "train.seed", "from 0 to 4294967295"),
        (MLP + "[train]\nclip_norm = -1", "train.clip_norm", "at least 0"),
        # choices
        (GPT + 'norm = "rms"', "model.norm", '"rmsnorm" or "layernorm"'),
        (GPT + 'activation = "relu"', "model.activation", '"swiglu", "gelu" or "gelu-tanh"'),
        (GPT + 'position = "none"', "model.position", '"rope" or "learned"'),
        (MLP + 'activation = "swiglu"', "model.activation", '"relu", "gelu" or "tanh"'),
        (MLP + '[optimizer]\nkind = "adamax"', "optimizer.kind", '"adam", "adamw", "lamb"'),
        (MLP + '[schedule]\nkind = "step"', "schedule.kind", '"constant", "linear", "cosine", "one-cycle"'),
        (MLP + '[train]\nprecision = "bfloat16"', "train.precision", '"float32", "float64" or "bf16-mixed"'),
        (MLP + '[train]\nloss = "mse"', "train.loss", '"cross-entropy", "mean-squared-error", "huber"'),
        # between keys
        (GPT + "width = 65", "model.width", "write 64 or 72, or change heads"),
        (GPT + 'width = 66\nposition = "learned"', "model.width", "write 64 or 68"),
        (GPT + "width = 12", "model.width", "head size 12 / 4 = 3 is odd, and rotary positions turn pairs of elements"),
        (GPT + "width = 12", "model.width", 'write 8 or 16, or position = "learned"'),
        (GPT + "width = 2", "model.width", "write 8, or change heads"),
        (CNN + "image = [1, 18, 16]", "model.image[1]", "write a multiple of 4, such as 16 or 20"),
        (CNN + "image = [1, 16, 3]", "model.image[2]", "the width 3"),
        (GPT + '[data]\nkind = "vectors"', "data.kind", 'write "tokens", or leave it out'),
        (CNN + '[data]\nkind = "vectors"', "data.kind", 'write "images"'),
        (RESNET + "blocks = [1, 1, 1]", "model.blocks", "has 3 entries and channels has 2"),
        (RESNET + "blocks = [0, 1]", "model.blocks[0]", "from 1 to 1000"),
        (MLP + '[optimizer]\nkind = "sgd"\nnesterov = true', "optimizer.nesterov", "add momentum = 0.9"),
        (MLP + '[optimizer]\nkind = "muon"\nmomentum = 0', "optimizer.nesterov", "or write nesterov = false"),
        (MLP + "[schedule]\nwarmup = 30", "schedule.warmup", "write at most 29, or raise train.steps"),
        (MLP + '[schedule]\nkind = "one-cycle"', "schedule.warmup", "rises from start during the warm-up: write"),
        (MLP + '[schedule]\nkind = "warmup-stable-decay"', "schedule.cooldown", "write their number, such as 9"),
        (
            MLP + '[schedule]\nkind = "warmup-stable-decay"\nwarmup = 10\ncooldown = 20',
            "schedule.cooldown",
            "leave none of the 30 steps at the full rate: write at most 19, or raise train.steps",
        ),
        (GPT + '[train]\nloss = "mean-squared-error"', "train.loss", 'a gpt predicts tokens, write "cross-entropy"'),
        (MLP + "outputs = 1", "model.outputs", 'set train.loss = "mean-squared-error"'),
        # losses
        (GPT + '[train]\nloss = "huber"', "train.loss", 'a gpt predicts tokens, write "cross-entropy"'),
        (MLP + 'outputs = 1\n[train]\nloss = "kl-divergence"', "model.outputs", 'loss = "binary-cross-entropy"'),
        (MLP + "[train]\nlabel_smoothing = 1", "train.label_smoothing", "at least 0 and below 1, not 1"),
        (MLP + "[train]\nclass_weights = [1, -1, 1, 1]", "train.class_weights[1]", "at least 0"),
        (MLP + "[train]\nclass_weights = [1, 1, 1e-30, 1]", "train.class_weights[2]", "0, or from 1e-12 to 1e+12"),
        (MLP + "[train]\nclass_weights = [1, 2, 3]", "train.class_weights", "3 entries and the model has 4 classes"),
        (GPT + "[train]\nclass_weights = [1, 2, 3]", "train.class_weights", "3 entries and the model has 64 classes"),
        (MLP + "[train]\nclass_weights = [0, 0, 0, 0]", "train.class_weights", "give a class a weight above 0"),
        (MLP + "[train]\nclass_weights = [0, 3, 0, 0]\nignore_label = 1", "train.class_weights", "leaves every class"),
        (MLP + "[train]\nignore_label = 2147483648", "train.ignore_label", "to 2147483647"),
        (MLP + "[data]\nbatch = 1\n[train]\nignore_label = -1", "train.ignore_label", "write data.batch = 2 or more"),
        (MLP + '[train]\nloss = "huber"\nhuber_delta = 0', "train.huber_delta", "above 0"),
        (MLP + '[train]\nloss = "huber"\nhuber_delta = 1e-40', "train.huber_delta", "from 1e-12 to 1e+12, not 1e-40"),
        (MLP + "[train]\nhuber_delta = 2", "train.huber_delta", 'remove it, or set loss = "huber"'),
        *(
            (MLP + f'[train]\nloss = "huber"\n{key}', f"train.{key.split()[0]}", 'or set loss = "cross-entropy"')
            for key in ("label_smoothing = 0.1", "ignore_label = 0", "class_weights = [1, 1, 1, 1]")
        ),
        (GPT + "width = 65536", "model", "more than the 137438953472 that a spec may have"),
        (GPT + "layers = 1\nwidth = 32768", "model", "more than the 2147483648 that one may have"),
        (MLP + "[data]\nbatch = 2147483648", "data.batch", "more than the 2147483648 that it may have"),
    ],
)
def test_a_fault_is_named_with_its_place_and_mend(text: str, where: str, fragment: str) -> None:
    found = faults(text)
    assert [place for place, _ in found] == [where]
    assert fragment in found[0][1]


@pytest.mark.parametrize(
    "text",
    [
        GPT + 'width = 12\nposition = "learned"',
        MLP + 'outputs = 1\n[train]\nloss = "mean-squared-error"',
        MLP + "[train]\nlabel_smoothing = 0.99\nignore_label = 2\nclass_weights = [0, 1, 0, 1e-12]",
        MLP + 'outputs = 1\n[train]\nloss = "binary-cross-entropy"',
        MLP + 'outputs = 2\n[train]\nloss = "kl-divergence"',
        MLP + 'outputs = 1\n[train]\nloss = "huber"\nhuber_delta = 0.5',
        GPT + "[data]\nbatch = 1\n[train]\nignore_label = -100",
        MLP + "hidden = []",
        MLP + "[schedule]\nwarmup = 29",
        MLP + '[schedule]\nkind = "one-cycle"\nwarmup = 29',
        MLP + '[schedule]\nkind = "warmup-stable-decay"\nwarmup = 10\ncooldown = 19',
        MLP + '[optimizer]\nkind = "muon"\nmomentum = 0\nnesterov = false',
        MLP + '[optimizer]\nkind = "sgd"\nmomentum = 0.9\nnesterov = true',
        MLP + "[optimizer]\nbetas = [0, 0.0]",
        MLP + "[data]\nnoise = 1",
        MLP + '[schedule]\nkind = "cosine"\nfinal = 1',
        MLP + "[train]\nsteps = 1",
        GPT + "vocabulary = 2\ncontext = 1",
    ],
)
def test_what_lies_on_the_edge_is_taken(text: str) -> None:
    read(text)


def test_all_faults_are_reported_in_the_order_of_the_file() -> None:
    found = faults(
        """
        [train]
        steps = 0
        [optimizer]
        betas = [0.9, 2, "x"]
        kind = "sgd"
        momentum = true
        [model]
        width = 65
        kind = "gpt"
        vocabulary = 1
        [dta]
        """
    )
    assert [where for where, _ in found] == [
        "train.steps",
        "optimizer.betas",
        "optimizer.momentum",
        "model.width",
        "model.vocabulary",
        "dta",
    ]


def test_every_faulty_entry_of_a_list_is_reported() -> None:
    found = faults(MLP + '[optimizer]\nbetas = [1, "x"]')
    assert [where for where, _ in found] == ["optimizer.betas[0]", "optimizer.betas[1]"]


def test_a_rule_between_keys_is_silent_where_a_key_is_faulty_itself() -> None:
    assert [where for where, _ in faults(GPT + "width = 65\nheads = 0")] == ["model.heads"]
    assert [where for where, _ in faults(MLP + "train = 3\n[schedule]\nwarmup = 40")] == [
        "model.train",
        "schedule.warmup",
    ]
    assert [where for where, _ in faults("train = 3\n" + MLP + "[schedule]\nwarmup = 40")] == ["train"]


def test_the_text_of_the_error_has_a_line_per_fault() -> None:
    with pytest.raises(InputError) as caught:
        read(MLP + "hiden = 3\n[train]\nsteps = 0")
    lines = str(caught.value).splitlines()
    assert lines[0] == "run.toml: model.hiden: unknown key; did you mean 'hidden'?"
    assert lines[1].startswith("run.toml: train.steps: must be ")
    assert len(lines) == 2


def test_thousands_of_unknown_keys_are_counted_not_listed() -> None:
    found = faults(MLP + "\n".join(f"key{index} = 1" for index in range(5000)))
    assert len(found) == 51
    assert "4949 more" in found[-1][1]


def test_a_name_that_the_stem_cannot_give_is_asked_for() -> None:
    with pytest.raises(InputError, match=r'name: missing, .* "my run" .*: add name = "my_run"'):
        read_spec({"model": {"kind": "mlp"}}, "my run.toml", "my run")


@pytest.mark.parametrize(
    "model",
    [
        Gpt(),
        Gpt(layers=3, width=24, heads=2, context=8, vocabulary=11, hidden=10, tied=False),
        Gpt(norm="layernorm", activation="gelu", position="learned", width=12),
        Gpt(norm="layernorm", bias=True),
        Gpt(activation="gelu", bias=True, tied=False, position="learned"),
        Mlp(),
        Mlp(inputs=3, hidden=(5,), outputs=2),
        Mlp(hidden=()),
        Cnn(),
        Cnn(image=(3, 8, 16), channels=(4, 2, 5), outputs=7),
        Resnet(),
        Resnet(image=(2, 9, 7), channels=(4, 4, 5), blocks=(2, 1, 3), outputs=7),
    ],
)
def test_the_size_of_a_model_is_that_of_the_program_built(model: Gpt | Mlp | Cnn | Resnet) -> None:
    program = build_program(replace(read(f'[model]\nkind = "{model.kind}"'), model=model))
    assert elements(model) == sum(array.size for array in program.parameters.values())


@pytest.mark.parametrize(
    "text",
    [
        GPT,
        CNN,
        MLP + '[optimizer]\nkind = "sgd"\nmomentum = 0.9\nnesterov = true\n[schedule]\nkind = "linear"\nfinal = 0.1',
        GPT + "[optimizer]\nbetas = [0.8, 0.9]\neps = 1e-7\nlr = 0.1",
    ],
)
def test_a_written_spec_is_read_back_the_same(text: str) -> None:
    spec = read(text)
    again = spec_from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert again.digest == spec.digest


@pytest.mark.parametrize("version", [None, 0, 2, "1", True, 1.0])
def test_another_schema_version_is_refused(version: object) -> None:
    with pytest.raises(InputError, match=r"job: schema_version: .*reads version 1, not"):
        spec_from_dict({**read(MLP).to_dict(), "schema_version": version}, "job")


def test_a_written_spec_with_a_foreign_value_is_refused() -> None:
    tables = read(MLP).to_dict()
    tables["optimizer"]["momentum"] = 0.9
    with pytest.raises(InputError, match=r"optimizer\.momentum: is no key of kind"):
        spec_from_dict(tables)


def test_a_written_spec_without_a_name_is_refused() -> None:
    tables = {key: value for key, value in read(MLP).to_dict().items() if key != "name"}
    with pytest.raises(InputError, match="name: missing"):
        spec_from_dict(tables)


RECORDS = (Gpt, Llama, Moe, Bert, Vit, Mlp, Cnn, Resnet, Unet, Data, Optimizer, Schedule, Train)
KEYS = st.sampled_from(["preset", *(field.name for record in (Spec, Spec, *RECORDS) for field in fields(record))])
WORDS = st.sampled_from(
    [*MODELS, *("adamw", "sgd", "cosine", "tokens", "float64", "mean-squared-error", "tiny", "gpt2", "unet-2015")]
)
SCALARS = st.one_of(
    st.integers(), st.integers(0, 20), st.floats(), st.booleans(), st.text(max_size=5), WORDS, st.dates(), st.none()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS | st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=6)


@settings(max_examples=300, deadline=None, database=None)
@given(TABLES, st.text(max_size=5))
@example({"model": {"kind": "gpt", "width": 10**5000}}, "x")
@example({"optimizer": {"lr": 10**400, "kind": math.nan}, "model": {"kind": []}}, "x")
@example({"model": {"preset": "gpt2", "width": 10**5000}}, "x")
@example({"model": {"kind": "unet", "preset": [], "channels": [2**31] * 30, "image": [1, 2**30, 2**30]}}, "x")
@example({"model": {"kind": "resnet", "blocks": [1000] * 30, "channels": [2**31] * 30, "block": "bottleneck"}}, "x")
@example({"model": {"kind": "cnn", "image": [1, 2**31, 2**31], "channels": [2**31] * 30}}, "x")
def test_arbitrary_tables_make_a_spec_or_an_input_error(tables: dict[str, Any], name: str) -> None:
    caught: InputError | None = None
    spec: Spec | None = None
    try:
        spec = read_spec(tables, "any.toml", name)
    except InputError as error:
        caught = error
    if spec is not None:
        assert spec_from_dict(spec.to_dict()) == spec
    else:
        assert caught is not None
        assert caught.faults
        assert all(fault.what for fault in caught.faults)


@settings(max_examples=100, deadline=None, database=None)
@given(TABLES)
def test_arbitrary_json_makes_a_spec_or_an_input_error(tables: dict[str, Any]) -> None:
    try:
        spec = spec_from_dict({"schema_version": 1, **tables})
    except InputError:
        return
    assert read_spec({**tables, "optimizer": {}, "schedule": {}}, "any.json", "").model == spec.model
