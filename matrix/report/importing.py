"""What was understood of an ONNX model, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from .wording import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_WIDE = 20
_SHOWN = 6
_ALL = 3


def show_import(made: Mapping[str, Any], stream: TextIO) -> None:
    """Write what was understood of a model to a stream.

    Args:
        made: The tables of `import --json`.
        stream: Where to write.
    """
    stream.write(clean(f"{made['model']}: operator set {made['opset']}") + "\n")
    stream.writelines(f"  {name:<{_WIDE}}{clean(text)}\n" for name, text in _lines(made))


def _lines(made: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for place, entry in enumerate(made["inputs"]):
        bound = f", below {entry['bound']}" if entry["bound"] else ""
        sizes = " x ".join(str(size) for size in entry["shape"]) or "one number"
        yield ("" if place else "inputs"), f"{entry['name']}  {entry['dtype']}  {sizes}{bound}"
    yield "outputs", ", ".join(made["outputs"])
    yield "loss", made["loss"] or "none: the program is only evaluated"
    yield from _tensors(made)
    yield "decided", made["decided"]
    yield from _operators(made["operators"])
    for part, words in (("upgraded", "from an older form"), ("opened", "into what ONNX defines them as")):
        if made[part]:
            yield part, f"{', '.join(made[part])} ({words})"
    if made["folded_nodes"]:
        yield "folded", f"{made['folded_nodes']} nodes"
    if made["widened"]:
        yield "widened", f"{', '.join(made['widened'])} to float32, in which weights are trained"
    for part in ("mended", "notes"):
        for entry in made[part]:
            yield part.removesuffix("s"), entry["message"]


def _tensors(made: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for part in ("trained", "frozen", "state"):
        held = made[part]
        if held["tensors"] or part == "trained":
            shown = _names(held["names"], all_of_them=part == "frozen")
            yield part, f"{held['tensors']} tensors, {held['elements']} elements{shown}"
    if made["frozen"]["tensors"]:
        yield "", 'to train one of the frozen: --train NAME, or train = ["NAME"] under [model] of a spec'


def _operators(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    everywhere = [f"{op} ({entry['nodes']})" for op, entry in found.items() if len(entry["frameworks"]) == _ALL]
    if everywhere:
        yield "operators", f"{', '.join(everywhere)}: torch, tensorflow, jax"
    for op, entry in found.items():
        if len(entry["frameworks"]) < _ALL:
            yield "", f"{op} ({entry['nodes']}): {', '.join(entry['frameworks']) or 'no framework'} only"


def _names(names: list[str], *, all_of_them: bool) -> str:
    if not names:
        return ""
    shown = names if all_of_them else names[:_SHOWN]
    return f": {', '.join(shown)}{', ...' if len(names) > len(shown) else ''}"
