"""How long `stackproof check` takes to answer on a pip freeze, as a process of its own, from start to end.

A freeze of 300 lines, with driver, GPU and Python given. The first process is not counted: it may compile modules.
--quick takes 5 processes instead of 20.

    python benchmarks/check_latency.py [--json] [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from figures import finish

_LINES: Final = 300
_REQUIRED: Final = {"median_seconds": {"at_most": 0.4}}
_ENVIRONMENT: Final = (
    "accelerate==1.4.0",
    "datasets==3.3.2",
    "deepspeed==0.16.4",
    "flash-attn==2.7.4.post1",
    "huggingface-hub==0.29.1",
    "numpy==2.2.6",
    "nvidia-cublas-cu12==12.4.5.8",
    "nvidia-cuda-runtime-cu12==12.4.127",
    "nvidia-cudnn-cu12==9.1.0.70",
    "nvidia-nccl-cu12==2.21.5",
    "onnx==1.17.0",
    "onnxruntime==1.20.1",
    "peft==0.14.0",
    "protobuf==5.29.3",
    "safetensors==0.5.2",
    "scipy==1.15.2",
    "tokenizers==0.21.0",
    "torch==2.6.0",
    "torchaudio==2.6.0",
    "torchvision==0.21.0",
    "transformers==4.49.0",
    "triton==3.2.0",
    "typing-extensions==4.12.2",
    "xformers==0.0.29.post3",
)
_WORDS: Final = ("--driver", "550.54.15", "--gpu", "A100", "--python", "3.11", "--json")


def main() -> int:
    """Time the processes and print the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="5 processes instead of 20")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        freeze = Path(folder) / "freeze.txt"
        freeze.write_text("\n".join(_freeze()), encoding="utf-8")
        seconds = sorted(_time(freeze) for _ in range(6 if options.quick else 21))[:-1]
    figures = {"median_seconds": statistics.median(seconds), "most_seconds": seconds[-1], "lines": float(_LINES)}
    shown = [f"{value:.3f} s" for value in (seconds[0], figures["median_seconds"], seconds[-1])]
    rows = [["processes", "least", "median", "most"], [str(len(seconds)), *shown]]
    return finish("check_latency", figures, _REQUIRED, as_json=options.json, rows=rows)


def _time(freeze: Path) -> float:
    command = [sys.executable, "-m", "stackproof", "check", str(freeze), *_WORDS]
    start = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - start


def _freeze() -> list[str]:
    """Return a training environment, and packages that no rule knows up to the wanted number of lines."""
    return [*_ENVIRONMENT, *(f"some-package-{number}==1.{number}.0" for number in range(_LINES - len(_ENVIRONMENT)))]


if __name__ == "__main__":
    sys.exit(main())
