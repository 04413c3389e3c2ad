"""Which operators have gradients, with respect to what, and why the others have none."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import defs

_MARK = defs.OpSchema.DifferentiationCategory.Differentiable
# Where ONNX's schemas say nothing, or less than trainers need: places of inputs and of outputs.
_UNMARKED: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "AffineGrid": ((0,), (0,)),
    "Attention": ((0, 1, 2, 3, 4, 5), (0, 1, 2, 3)),
    "ConcatFromSequence": ((0,), (0,)),
    "DFT": ((0,), (0,)),
    "DeformConv": ((0, 1, 2, 3, 4), (0,)),
    "DequantizeLinear": ((1,), (0,)),
    "FlexAttention": ((0, 1, 2), (0,)),
    "If": ((), (0,)),
    "LayerNormalization": ((0, 1, 2), (0, 1, 2)),
    "Loop": ((2,), (0,)),
    "Optional": ((0,), (0,)),
    "OptionalGetElement": ((0,), (0,)),
    "RMSNormalization": ((0, 1), (0,)),
    "ReverseSequence": ((0,), (0,)),
    "RoiAlign": ((0,), (0,)),
    "RotaryEmbedding": ((0, 1, 2), (0,)),
    "STFT": ((0, 2), (0,)),
    "Scan": ((0,), (0,)),
    "SequenceAt": ((0,), (0,)),
    "SequenceConstruct": ((0,), (0,)),
    "SequenceErase": ((0,), (0,)),
    "SequenceInsert": ((0,), (0,)),
    "SequenceMap": ((0,), (0,)),
    "SplitToSequence": ((0,), (0,)),
    "Upsample": ((0,), (0,)),
}
_REASONS: dict[str, str] = {
    "its result is true or false": """
        And Or Xor Not Equal Greater GreaterOrEqual Less LessOrEqual IsInf IsNaN OptionalHasElement RegexFullMatch
    """,
    "its result is whole numbers": """
        ArgMax ArgMin NonZero NonMaxSuppression Shape Size SequenceLength QuantizeLinear DynamicQuantizeLinear
    """,
    "it takes whole numbers": """
        BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor ConvInteger MatMulInteger QLinearConv QLinearMatMul
        TfIdfVectorizer BlackmanWindow HammingWindow HannWindow
    """,
    "it is constant but for jumps": "Ceil Floor Round Sign Binarizer TreeEnsemble",
    "it reads the bits of a number as another one's": "BitCast",
    "its result is drawn": """
        Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """,
    "it has no input that its result is made of": "Constant ConstantOfShape EyeLike SequenceEmpty",
    "its inputs say what its result looks like, and are known beforehand": "Range MelWeightMatrix OneHot",
    "it is a gradient already": "Gradient",
    "it looks values up; ONNX gives it no gradient": "ArrayFeatureExtractor LabelEncoder Unique",
    "it is an optimizer's step, through which nothing is trained": "Adagrad Adam Momentum",
    "it is a gradient itself; layer_contract.py takes that of one": "Gradient",
    "it takes strings or images, which no target has": "ImageDecoder StringConcat StringNormalizer StringSplit",
}
NOT_DIFFERENTIABLE = {op: reason for reason, ops in _REASONS.items() for op in ops.split()}


@dataclass(frozen=True)
class Places:
    """The places of an operator's inputs and outputs that have gradients; the last may stand for all that follow."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    last_input: int
    last_output: int

    def has_input(self, place: int) -> bool:
        """Say whether the input at a place has a gradient."""
        return min(place, self.last_input) in self.inputs

    def has_output(self, place: int) -> bool:
        """Say whether the output at a place has one."""
        return min(place, self.last_output) in self.outputs


def schemas() -> dict[str, defs.OpSchema]:
    """Return the newest schema of each operator."""
    return {schema.name: schema for schema in defs.get_all_schemas()}


def differentiable() -> dict[str, Places]:
    """Return the operators that have gradients: those whose schema marks an input and an output, and further ones."""
    found = {}
    for name, schema in schemas().items():
        inputs, outputs = (
            tuple(place for place, entry in enumerate(entries) if entry.differentiation_category == _MARK)
            for entries in (schema.inputs, schema.outputs)
        )
        if name in _UNMARKED:
            inputs, outputs = _UNMARKED[name]
        if name in _UNMARKED or (inputs and outputs):
            found[name] = Places(inputs, outputs, len(schema.inputs) - 1, len(schema.outputs) - 1)
    return found
