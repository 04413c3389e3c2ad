"""Questions whose answer stands in the next line: headings of issue forms, and expressions typed into Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .patterns import Lazy
from .text import is_ornament

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADING: Final = Lazy(
    r"(?:#+\s*|\*\*\s*)?(Python version|TensorFlow version|PyTorch version|CUDA/cuDNN version|CUDA version|"
    r"cuDNN version|"
    r"GPU model and memory|GPU model|GPU type|OS platform and distribution|Operating system|OS|Distro version|"
    r"NVIDIA driver version|"
    r"driver version|"
    r"jax version|jaxlib version|NCCL version|What jax/jaxlib version are you using|"
    r"tf\.version\.VERSION|tf version)\s*(?:\([^)]{0,60}\))?\s*[?:]?\s*(?:\*\*)?:?",
    re.IGNORECASE,
)
_EXPRESSION: Final = Lazy(
    r"(?:print\()?((?:torch|tf|tensorflow|jax|jaxlib|numpy|np|torchvision|torchaudio|xformers|flax)\.(?:__version__|"
    r"version\.cuda|"
    r"version\.VERSION|backends\.cudnn\.version\(\)|cuda\.nccl\.version\(\)|cuda\.get_arch_list\(\)|"
    r"cuda\.get_device_name\(\d*\)))\)?"
)
_WORDS: Final = ("ersion", "GPU", "ystem", "platform", "OS", "cuda.")  # one of these is in every question
_LONGEST: Final = 100
_FAR: Final = 3
_MODULES: Final = {"np": "numpy", "tf": "tensorflow"}


_COMMAND: Final = Lazy(r"(?:[$#%]\s*)?(?:!\s*)?python[\d.]*\s+-c\s+[\"'](?:\s*import [\w., ]+;)*\s*(print\(.*\))[\"']")


def join_answer(lines: Sequence[str], index: int) -> tuple[str, int] | None:
    """Return a question with its answer as one line, and the index after them; None where a line is no question."""
    line = lines[index].strip()
    if len(line) > _LONGEST or not any(word in line for word in _WORDS):
        return None
    command = _COMMAND.fullmatch(line)
    heading, expression = _HEADING.fullmatch(line), _EXPRESSION.fullmatch(command[1] if command else line)
    if heading is None and expression is None:
        return None
    for after in range(index + 1, min(index + 1 + _FAR, len(lines))):
        answer = lines[after].strip()
        if answer and not is_ornament(answer):
            if _HEADING.fullmatch(answer) or _EXPRESSION.fullmatch(answer) or answer.startswith("#"):
                return None
            return f"{heading[1]}: {answer}" if heading else _say(
                expression[1] if expression else "", answer
            ), after + 1
    return None


def _say(expression: str, answer: str) -> str:
    """Return an expression with its value in the words that the table of lines knows."""
    module, _, rest = expression.partition(".")
    value = answer.strip("'\"")
    if rest == "__version__":
        return f"{_MODULES.get(module, module)}=={value}"
    if rest.startswith("cuda.get_device_name"):
        return f"GPU 0: {value}"
    if rest == "backends.cudnn.version()":
        return f"cuDNN version: {value}"
    if rest == "cuda.get_arch_list()":
        return f"arch_list: {answer}"
    return f"{expression} {value}"
