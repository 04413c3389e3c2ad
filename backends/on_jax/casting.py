"""JAX rules: from one dtype to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from ..casting import bit_cast_type
from ..errors import UnsupportedError
from ..narrow import FORMATS, NARROW_INTEGERS, SCALE_FORMAT, Floats, rounded, wrapped
from ..nodes import cast_type
from ..registry import rule
from ..values import CARRIERS, Narrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jax import Array

    Inputs = Sequence[Any]
    Attributes = Mapping[str, Any]

# Dtypes whose numbers float32 does not hold exactly.
_LARGE = ("float64", "int32", "int64", "uint32", "uint64")


def _power(value: Array) -> Array:
    kind, mask = (jnp.int64, 0x7FF << 52) if value.dtype == jnp.float64 else (jnp.int32, 0xFF << 23)
    return jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(value, kind) & mask, value.dtype)


_FLOATS = Floats(_power, jnp.round, jnp.isnan, jnp.where)


def dtype_name(value: Any) -> str:
    """Return the name of a tensor's dtype as `nodes.DTYPES` has it."""
    return value.dtype if isinstance(value, Narrow) else str(value.dtype)


def cast(value: Any, name: str, attributes: Attributes) -> Any:
    """Return a tensor, narrow or not, in the dtype of that name.

    Args:
        value: What to convert.
        name: As `nodes.DTYPES` has it.
        attributes: Those of a `Cast` node that say how to round to a narrow dtype.

    Raises:
        UnsupportedError: It is a 64-bit dtype, and JAX has been left without them.
    """
    source = jnp.asarray(value.values if isinstance(value, Narrow) else value)
    if name in NARROW_INTEGERS:
        whole = source.astype(jnp.int32) if jnp.issubdtype(source.dtype, jnp.floating) else source
        return Narrow(wrapped(whole.astype(jnp.int32), name).astype(CARRIERS[name]), name)
    if name in FORMATS or name == SCALE_FORMAT:
        wide = source.astype(jax.dtypes.canonicalize_dtype("float64" if source.dtype.name in _LARGE else "float32"))
        return Narrow(rounded(wide, name, _FLOATS, dict(attributes)).astype(jnp.float32), name)
    dtype = jax.dtypes.canonicalize_dtype(name)
    if name == "float64" and dtype != jnp.float64:
        raise UnsupportedError("Cast to float64 on jax needs a float64 run: set train.precision to float64")
    return source.astype(dtype)


@rule("Cast", "jax")
def _cast(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], cast_type(attributes, "jax"), attributes)


@rule("CastLike", "jax")
def _cast_like(inputs: Inputs, attributes: Attributes) -> Any:
    return cast(inputs[0], dtype_name(inputs[1]), attributes)


@rule("BitCast", "jax")
def _bit_cast(inputs: Inputs, attributes: Attributes) -> Array:
    name = bit_cast_type(dtype_name(inputs[0]), attributes, "jax")
    data = inputs[0].view(jnp.uint8) if inputs[0].dtype == jnp.bool_ else inputs[0]
    return data.view(name)
