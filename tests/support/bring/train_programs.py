"""Run by a framework's own Python: programs are trained by stackproof's sessions on that framework, in float64.

Arguments: the target, and a folder with `KIND.program`, `KIND.npz` and `KIND.json`; writes `KIND.TARGET.json`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from stackproof.backends.program import load
from stackproof.backends.schedule import rates
from stackproof.backends.session import Options
from stackproof.backends.spec import Data, Mlp, Optimizer, Schedule, Spec, Train


def train(session: Any, program: Path) -> list[float]:
    with np.load(program.with_suffix(".npz")) as held:
        entries = {name: held[name] for name in held.files}
    optimizer = Optimizer(**json.loads(program.with_suffix(".json").read_text())["optimizer"])
    # Of the spec only optimizer and schedule are used: model and data are the program's own.
    spec = Spec("own", Mlp(), Data(), optimizer, Schedule(), Train(len(next(iter(entries.values())))))
    opened = session.open_session(load(program.read_bytes()), spec, Options("float64", compile=False))
    made = []
    for step, rate in enumerate(rates(spec)):
        loss, _ = opened.step(opened.place({name: values[step] for name, values in entries.items()}), rate)
        made.append(opened.read(loss))
    return made


def main(target: str, folder: Path) -> None:
    session = importlib.import_module(f"stackproof.backends.on_{target}.session")
    session.prepare(1, "cpu")
    for program in sorted(folder.glob("*.program")):
        losses = train(session, program)
        program.with_suffix(f".{target}.json").write_text(json.dumps(losses))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
