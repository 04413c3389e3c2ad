"""Rules of the built-in models: what their keys allow of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from .spec import Bert, Cnn, Gpt, Llama, Mlp, Moe, Resnet, Unet, Vit

if TYPE_CHECKING:
    from .spec import Model
    from .tables import Faults

DATA_OF_MODEL = {
    "gpt": "tokens",
    "llama": "tokens",
    "moe": "tokens",
    "bert": "masked-tokens",
    "vit": "images",
    "mlp": "vectors",
    "cnn": "images",
    "resnet": "images",
    "unet": "pixels",
    "onnx": "prototypes",
}
Transformer = Union[Gpt, Llama, Moe, Bert, Vit]


def check_model(model: Model, faults: Faults) -> None:
    """Report where keys of a model do not fit each other; arguments as for `spec_rules.check_fit`."""
    if isinstance(model, (Gpt, Llama, Moe, Bert, Vit)):
        _check_transformer(model, faults)
    if isinstance(model, (Cnn, Unet, Vit)):
        _check_image(model, faults)
    if isinstance(model, Resnet) and sound(faults, "model.channels", "model.blocks"):
        _check_stages(model, faults)
    if isinstance(model, Mlp) and model.dropout and not model.hidden and sound(faults, "model.dropout", "model.hidden"):
        faults.add(("model", "dropout"), "drops after hidden layers, and there are none: remove it, or write some")


def sound(faults: Faults, *keys: str) -> bool:
    """Say whether no fault was found that touches these keys, written as in `data.kind`."""
    return not any(faults.touch(tuple(key.split("."))) for key in keys)


def _check_transformer(model: Transformer, faults: Faults) -> None:
    if sound(faults, "model.width", "model.heads", "model.position"):
        _check_heads(model, faults)
    if isinstance(model, (Gpt, Llama, Moe)) and sound(faults, "model.heads", "model.key_heads"):
        _check_key_heads(model, faults)
    if isinstance(model, Moe) and model.active > model.experts and sound(faults, "model.active", "model.experts"):
        what = f"{model.active} is more than experts = {model.experts}: write at most {model.experts}"
        faults.add(("model", "active"), f"{what}, or raise experts")
    idle = isinstance(model, Gpt) and model.position == "learned" and model.rope_base != Gpt().rope_base
    if idle and sound(faults, "model.position", "model.rope_base"):
        what = 'does not count with position = "learned": remove it, or set position = "rope"'
        faults.add(("model", "rope_base"), what)


def _check_heads(model: Transformer, faults: Faults) -> None:
    width, heads = model.width, model.heads
    rotary = isinstance(model, (Llama, Moe)) or (isinstance(model, Gpt) and model.position == "rope")
    if width % heads:
        what = f"{width} is no multiple of heads = {heads}: write {_multiples(width, heads * (2 if rotary else 1))}"
        faults.add(("model", "width"), f"{what}, or change heads")
    elif rotary and width // heads % 2:
        near = _multiples(width, 2 * heads)
        other = ', or position = "learned"' if isinstance(model, Gpt) else ", or change heads"
        what = f"the head size {width} / {heads} = {width // heads} is odd, and rotary positions turn pairs of elements"
        faults.add(("model", "width"), f"{what}: write {near}{other}")


def _check_key_heads(model: Gpt | Llama | Moe, faults: Faults) -> None:
    heads, shared = model.heads, model.key_heads
    if shared and heads % shared:
        fitting = max(size for size in range(1, min(shared, heads) + 1) if heads % size == 0)
        what = f"heads = {heads} is no multiple of it, and each head of keys serves as many heads of queries"
        faults.add(("model", "key_heads"), f"{what}: write {fitting}, or change heads")


def _multiples(value: int, unit: int) -> str:
    below = value // unit * unit
    return f"{below} or {below + unit}" if below else str(unit)


def _check_image(model: Cnn | Unet | Vit, faults: Faults) -> None:
    keys = ("model.image", "model.patch" if isinstance(model, Vit) else "model.channels")
    if not sound(faults, *keys):
        return
    unit, why = _unit(model)
    for index, side in ((1, "height"), (2, "width")):
        size = model.image[index]
        if size % unit:
            what = f"the {side} {size} {why}: write a multiple of {unit}, such as {_multiples(size, unit)}"
            faults.add(("model", "image", index), what)


def _unit(model: Cnn | Unet | Vit) -> tuple[int, str]:
    """Return what the sides of a model's image are multiples of, and why."""
    if isinstance(model, Vit):
        return model.patch, f"is cut into patches of {model.patch}"
    if isinstance(model, Cnn):
        return 2 ** len(model.channels), f"is halved once for each of the {len(model.channels)} channels entries"
    return 2 ** (len(model.channels) - 1), f"is halved between the {len(model.channels)} channels entries"


def _check_stages(model: Resnet, faults: Faults) -> None:
    stages, given = len(model.channels), len(model.blocks)
    if given != stages:
        what = f"has {given} entries and channels has {stages}: write one entry for each stage in both"
        faults.add(("model", "blocks"), what)
