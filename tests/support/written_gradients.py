"""Where gradients are taken: domains of operators, and models for operators that ONNX's suite has no usable case of."""

from __future__ import annotations

# From where an operator's input is drawn, by its place.
DOMAINS: dict[tuple[str, int], tuple[float, float]] = {
    ("Acos", 0): (-0.9, 0.9),
    ("Acosh", 0): (1.5, 4.0),
    ("Asin", 0): (-0.9, 0.9),
    ("Atanh", 0): (-0.9, 0.9),
    ("BatchNormalization", 4): (0.5, 1.5),
    ("Div", 1): (0.5, 2.0),
    ("Log", 0): (0.3, 3.0),
    # The evaluator takes no absolute value where p is odd.
    ("LpNormalization", 0): (0.5, 2.0),
    ("Pow", 0): (0.5, 2.0),
    ("Pow", 1): (-2.0, 3.0),
    ("Reciprocal", 0): (0.4, 2.0),
    ("ReduceLogSum", 0): (0.5, 2.0),
    ("ReduceProd", 0): (0.5, 1.5),
    ("Sqrt", 0): (0.3, 3.0),
    ("Tan", 0): (-1.2, 1.2),
}

# Every input has a gradient, and every output a weight; inputs are drawn from 0.5 to 1.5.
WRITTEN: dict[str, tuple[str, ...]] = {
    "Cast": ("agraph (double[2,3] x) => (double[2,3] y) { z = Cast<to: int = 11>(x)  y = Mul(z, z) }",),
    "CastLike": (
        """agraph (double[2,3] x) => (double[2,3] y)
        { like = Constant<value = double {0.0}>()  y = CastLike(x, like) }""",
    ),
    "ConcatFromSequence": (
        """agraph (double[2,3] a, double[2,2] b) => (double[2,5] y)
        { s = SequenceConstruct(a, b)  y = ConcatFromSequence<axis: int = 1>(s) }""",
        """agraph (double[2,3] a, double[2,3] b) => (double[2,2,3] y)
        { s = SequenceConstruct(a, b)  y = ConcatFromSequence<axis: int = 1, new_axis: int = 1>(s) }""",
    ),
    "DequantizeLinear": (
        """agraph (double[3] scale) => (double[3,2] y)
        { x = Constant<value = int8[3,2] {-9, 4, 7, 100, -128, 3}>()
          y = DequantizeLinear<axis: int = 0>(x, scale) }""",
    ),
    "Erf": ("agraph (double[3,4] x) => (double[3,4] y) { y = Erf(x) }",),
    "GlobalLpPool": (
        "agraph (double[2,3,4,5] x) => (double[2,3,1,1] y) { y = GlobalLpPool(x) }",
        "agraph (double[2,3,4] x) => (double[2,3,1] y) { y = GlobalLpPool<p: int = 3>(x) }",
    ),
    "If": (
        """agraph (double[2,3] x, double[2,3] z) => (double[2,3] y)
        { yes = Constant<value = bool {1}>()
          y = If(yes) <then_branch = one () => (double[2,3] a) { a = Mul(x, z) },
                       else_branch = two () => (double[2,3] b) { b = Sub(x, z) }> }""",
        """agraph (double[2,3] x, double[2,3] z) => (double[2,3] y)
        { no = Constant<value = bool {0}>()
          y = If(no) <then_branch = one () => (double[2,3] a) { a = Mul(x, z) },
                      else_branch = two () => (double[2,3] b) { b = Div(x, z) }> }""",
        """agraph (double[2,3] x, double[2,3] z) => (double[2,3] y)
        { total = ReduceSum<keepdims: int = 0>(x)
          zero = Constant<value = double {0.0}>()
          positive = Greater(total, zero)
          y = If(positive) <then_branch = one () => (double[2,3] a) { a = Mul(x, z) },
                            else_branch = two () => (double[2,3] b) { b = Div(x, z) }> }""",
    ),
    "Loop": (
        """agraph (double[2,3] x, double[3] w) => (double[2,3] y)
        { count = Constant<value_int: int = 3>()
          yes = Constant<value = bool {1}>()
          y = Loop(count, yes, x)
          <body = step (int64 i, bool c, double[2,3] h) => (bool go, double[2,3] next)
           { go = Identity(c)  m = Mul(h, w)  next = Tanh(m) }> }""",
        """agraph (double[2,3] x, double[3] w) => (double[2,3] y, double[4,2,3] all)
        { count = Constant<value_int: int = 4>()
          yes = Constant<value = bool {1}>()
          y, all = Loop(count, yes, x)
          <body = step (int64 i, bool c, double[2,3] h) => (bool go, double[2,3] next, double[2,3] seen)
           { go = Identity(c)  m = Mul(h, w)  next = Tanh(m)  seen = Add(m, h) }> }""",
    ),
    "MaxRoiPool": (
        """agraph (double[1,2,6,6] x) => (double[2,2,2,2] y)
        { rois = Constant<value = double[2,5] {0.0, 0.0, 0.0, 3.0, 3.0, 0.0, 1.0, 2.0, 5.0, 5.0}>()
          y = MaxRoiPool<pooled_shape: ints = [2, 2]>(x, rois) }""",
    ),
    "Mish": ("agraph (double[3,4] x) => (double[3,4] y) { y = Mish(x) }",),
    "Optional": (
        """agraph (double[2,3] x) => (double[2,3] y)
        { o = Optional(x)  z = OptionalGetElement(o)  y = Mul(z, z) }""",
    ),
    "OptionalGetElement": ("agraph (double[2,3] x) => (double[2,3] y) { z = OptionalGetElement(x)  y = Mul(z, z) }",),
    "Scan": (
        """agraph (double[3] h, double[4,3] x) => (double[3] last, double[4,3] all)
        { last, all = Scan<num_scan_inputs: int = 1,
          body = step (double[3] s, double[3] v) => (double[3] next, double[3] seen)
          { m = Mul(s, v)  next = Tanh(m)  seen = Add(m, v) }>(h, x) }""",
    ),
    "SequenceAt": (
        """agraph (double[2,3] a, double[2,3] b) => (double[2,3] y)
        { s = SequenceConstruct(a, b)  i = Constant<value_int: int = -1>()  z = SequenceAt(s, i)  y = Mul(z, a) }""",
    ),
    "SequenceConstruct": (
        """agraph (double[2,3] a, double[2,3] b) => (double[2,3] y)
        { s = SequenceConstruct(a, b)  i = Constant<value_int: int = 1>()  z = SequenceAt(s, i)  y = Mul(z, a) }""",
    ),
    "SequenceErase": (
        """agraph (double[2,3] a, double[2,3] b, double[1,3] c) => (double[3,3] y)
        { s = SequenceConstruct(a, b, c)  i = Constant<value_int: int = 1>()  t = SequenceErase(s, i)
          y = ConcatFromSequence<axis: int = 0>(t) }""",
    ),
    "SequenceInsert": (
        """agraph (double[2,3] a, double[2,3] b, double[1,3] c) => (double[5,3] y)
        { s = SequenceConstruct(a, b)  i = Constant<value_int: int = 1>()  t = SequenceInsert(s, c, i)
          y = ConcatFromSequence<axis: int = 0>(t) }""",
    ),
    "SequenceMap": (
        """agraph (double[2,3] a, double[2,3] b) => (double[4,3] y)
        { s = SequenceConstruct(a, b)
          t = SequenceMap(s) <body = square (double[2,3] v) => (double[2,3] w) { w = Mul(v, v) }>
          y = ConcatFromSequence<axis: int = 0>(t) }""",
    ),
    "SplitToSequence": (
        """agraph (double[5,3] x) => (double[2,3] y)
        { parts = Constant<value_ints: ints = [2, 3]>()  s = SplitToSequence<axis: int = 0>(x, parts)
          i = Constant<value_int: int = 0>()  z = SequenceAt(s, i)  y = Mul(z, z) }""",
    ),
    "Trilu": (
        "agraph (double[2,3,4] x) => (double[2,3,4] y) { y = Trilu<upper: int = 0>(x) }",
        "agraph (double[3,4] x) => (double[3,4] y) { k = Constant<value_int: int = 1>()  y = Trilu(x, k) }",
    ),
}
