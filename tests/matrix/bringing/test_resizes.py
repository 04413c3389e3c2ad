"""Resizes between aligned corners: sizes in place of scales, and the import that refuses what has two readings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_models import drawn, floats, model, node

from stackproof.backends.errors import InputError
from stackproof.matrix.bringing.resizes import size_corners
from stackproof.matrix.importing.prepare import Wishes, import_proto

if TYPE_CHECKING:
    from onnx import ModelProto

X = drawn(1, 2, 7, 6)
SCALES = np.array([1, 1, 1.7, 1.7], np.float32)


def _resize(*, stated: bool = True, scales: np.ndarray = SCALES, **attributes: Any) -> ModelProto:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "align_corners", **attributes}
    made = [node("Resize", ["x", "", "scales"], ["y"], name="grow", **attributes)]
    sizes = (1, 2, 11, 10) if stated else ("n", "c", "h", "w")
    return model(made, [floats("x", 1, 2, 7, 6)], [floats("y", *sizes)], {"scales": scales})


def _along(values: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Resize one axis so that its ends stay: numpy's own interpolation."""
    places = np.linspace(0, values.shape[axis] - 1, size)
    return np.apply_along_axis(lambda row: np.interp(places, np.arange(row.size), row), axis, values)


@pytest.mark.parametrize("stated", [True, False])
def test_sizes_lay_corner_on_corner(*, stated: bool) -> None:
    made = _resize(stated=stated)
    size_corners(made)
    (found,) = ReferenceEvaluator(made).run(None, {"x": X})
    np.testing.assert_allclose(found, _along(_along(X, 11, 2), 10, 3), atol=1e-6)
    program = import_proto(made, "m.onnx", Wishes(), "m").program
    assert [entry.op for entry in program.nodes] == ["Resize"]


def test_scales_in_a_node_of_their_own_are_found() -> None:
    made = _resize()
    del made.graph.initializer[:]
    made.graph.node.insert(0, node("Constant", [], ["scales"], value_floats=SCALES.tolist()))
    size_corners(made)
    (found,) = ReferenceEvaluator(made).run(None, {"x": X})
    np.testing.assert_allclose(found, _along(_along(X, 11, 2), 10, 3), atol=1e-6)


def test_other_ways_to_count_keep_their_scales() -> None:
    made = _resize(coordinate_transformation_mode="half_pixel")
    before = made.SerializeToString()
    size_corners(made)
    assert made.SerializeToString() == before


@pytest.mark.parametrize("how", ["align_corners", "tf_crop_and_resize"])
def test_a_scale_with_two_readings_is_refused_by_name(how: str) -> None:
    made = _resize(coordinate_transformation_mode=how)
    if how == "tf_crop_and_resize":
        made.graph.node[0].input[1] = "region"
        made.graph.initializer.append(helper.make_tensor("region", TensorProto.FLOAT, [8], [0.0] * 4 + [1.0] * 4))
    with pytest.raises(InputError) as caught:
        import_proto(made, "m.onnx", Wishes(), "m")
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"m.onnx: grow: Resize with {how} and a scale that is no whole number makes 11.9 elem")
    assert [line for line in lines if "export it with sizes in place of scales" in line] == lines
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("scales", "how"),
    [
        ((1, 1, 2, 3), "align_corners"),
        ((1, 1, 3 / 7, 1.5), "align_corners"),
        ((1, 1, 1.7, 1.7), "half_pixel"),
        ((1, 1, 1.7, 1.7), "pytorch_half_pixel"),
    ],
)
def test_a_scale_with_one_reading_passes(scales: tuple[float, ...], how: str) -> None:
    made = _resize(stated=False, scales=np.array(scales, np.float32), coordinate_transformation_mode=how)
    assert import_proto(made, "m.onnx", Wishes(), "m").operators == {"Resize": 1}


def test_a_single_element_of_a_fractional_length_is_refused() -> None:
    made = _resize(
        stated=False,
        scales=np.array([1, 1, 1, 0.3], np.float32),
        coordinate_transformation_mode="pytorch_half_pixel",
    )
    with pytest.raises(InputError, match=r"grow: Resize with pytorch_half_pixel .* makes 1.8 elements of axis 3"):
        import_proto(made, "m.onnx", Wishes(), "m")
