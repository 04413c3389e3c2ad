"""Reports as the judge would make them: all certified, every verdict with hostile strings, and a large one."""

from __future__ import annotations

import hashlib
import math
import random
from typing import Any

STACKS = [
    ("torch", "2.13.0"),
    ("torch", "2.15.0"),
    ("tensorflow-cpu", "2.20.0"),
    ("tensorflow-cpu", "2.21.0"),
    ("jax", "0.9.2"),
    ("jax", "0.10.2"),
]
SPECS = {"gpt_tiny": "gpt 2x64, adamw, 30 steps", "mlp_tiny": "mlp 3x128, sgd, 40 steps"}
BASELINES = {("torch", "2.13.0"), ("tensorflow-cpu", "2.20.0"), ("jax", "0.9.2")}
FRAMEWORKS = {"torch": "torch", "tensorflow-cpu": "tensorflow", "tensorflow": "tensorflow", "jax": "jax"}
MODES = {"torch": "inductor", "tensorflow": "xla", "jax": "xla"}
VERDICTS = ["certified", "drifted", "regressed", "incorrect", "broken", "incompatible", "untested"]
HOSTILE = (
    "</script><script>document.title='owned'</script><!-- \"quoted\" 'single' & "
    "<img src=x onerror=alert(1)> \u00fcn\u00efcode \u4e2d\u6587 \u2028"
)
CONTROLS = "\x1b[31mred\x1b[0m \x00nul \x08back \ufffe end"


def certified_report() -> dict[str, Any]:
    """Return twelve cells, all certified."""
    cells = [cell(package, version, spec) for package, version in STACKS for spec in SPECS]
    return report("quickstart", cells)


def every_verdict_report() -> dict[str, Any]:
    """Return the same matrix with each verdict in it, one cell left out, and strings that try to break out."""
    tables = certified_report()
    cells = {entry["id"]: entry for entry in tables["cells"]}
    mark_incorrect(cells["torch2.15.0-py311-gpt_tiny"])
    mark_drifted(cells["torch2.15.0-py311-mlp_tiny"])
    mark_regressed(cells["tensorflow-cpu2.21.0-py311-gpt_tiny"])
    mark_broken(cells["tensorflow-cpu2.21.0-py311-mlp_tiny"])
    mark_incompatible(cells["jax0.9.2-py311-gpt_tiny"])
    mark_untested(cells["jax0.9.2-py311-mlp_tiny"])
    del cells["jax0.10.2-py311-mlp_tiny"]
    hostile = cell("torch", "2.13.0", HOSTILE.replace("\u2028", ""))
    mark_broken(hostile)
    hostile["reasons"] = [f"{HOSTILE} {CONTROLS}", "a | pipe, `code`, *stars*, [link](javascript:alert(1)), @someone"]
    hostile["log"] = [HOSTILE, CONTROLS, "]]> & ]]>"]
    tables = report("quickstart", [*cells.values(), hostile])
    tables["specs"].append({"name": hostile["spec"], "digest": digest("h"), "reference": None, "summary": HOSTILE})
    stands_apart = "tensorflow stands apart at step 12: loss differs by 3e-07 relative; jax and torch agree to 2e-15"
    tables["specs"][1]["reference"].update(agrees=False, agreement=3.2e-07, why=stands_apart)
    return tables


def large_report(count: int = 120) -> dict[str, Any]:
    """Return a matrix of many stacks and four specs, mostly certified."""
    dice = random.Random(7)  # noqa: S311 - a sample, no secret
    names = ["gpt_tiny", "gpt_long_context", "mlp_tiny", "cnn_small"]
    versions = {"torch": ["2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"], "jax": ["0.8.3", "0.9.2", "0.10.2"]}
    versions["tensorflow"] = ["2.20.0", "2.21.0"]
    cells = []
    for package, some in versions.items():
        for version in some:
            for numpy in ("2.1.3", "2.2.6", "2.4.6"):
                cells += [cell(package, version, spec, {"numpy": numpy}) for spec in names]
    for entry in cells[:count]:
        chance = dice.random()
        marks = [(0.02, mark_incorrect), (0.05, mark_broken), (0.09, mark_regressed), (0.12, mark_drifted)]
        mark = next((mark for share, mark in marks if chance < share), None)
        if mark and not entry["baseline"]:
            mark(entry)
    return report("nightly", cells[:count])


def report(name: str, cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a report of these cells, its totals counted."""
    specs = [spec for spec in dict.fromkeys(entry["spec"] for entry in cells) if "<" not in spec]
    frameworks = ["jax", "tensorflow", "torch"]
    verdicts = [entry["verdict"] for entry in cells]
    return {
        "schema_version": 1,
        "stackproof": "0.1.0",
        "matrix": name,
        "created": "2026-11-30T17:00:00Z",
        "machine": {
            "os": "Debian GNU/Linux 12",
            "cpu": "Example CPU @ 2.60GHz",
            "cores": 2,
            "memory_bytes": 16 * 2**30,
            "gpu": None,
            "driver": None,
            "python": "3.11.7",
        },
        "specs": [
            {
                "name": spec,
                "digest": digest(spec),
                "reference": {
                    "frameworks": frameworks,
                    "agreement": 3.1e-15,
                    "agrees": True,
                    "why": "jax, tensorflow, torch agree in float64",
                },
                "summary": SPECS.get(spec, "gpt 4x128, adamw, 30 steps"),
            }
            for spec in specs
        ],
        "cells": cells,
        "totals": {
            **{verdict: verdicts.count(verdict) for verdict in VERDICTS},
            "cells": len(cells),
            "seconds": sum(sum(entry["seconds"].values()) for entry in cells),
            "runs_reused": 0,
            "runs_made": 2 * len(cells),
        },
    }


def cell(package: str, version: str, spec: str, pins: dict[str, str] | None = None) -> dict[str, Any]:
    """Return one certified cell."""
    pins = pins or {}
    stack = f"{package}{version}-py311" + "".join(f"-{name}{pin}" for name, pin in pins.items())
    dice = random.Random(f"{stack}-{spec}")  # noqa: S311 - a sample, no secret
    framework = FRAMEWORKS[package]
    baseline = (package, version) in BASELINES
    return {
        "id": f"{stack}-{spec}",
        "spec": spec,
        "stack": {"package": package, "version": version, "python": "3.11", "packages": pins, "framework": framework},
        "level": "trained-cpu",
        "verdict": "certified",
        "baseline": baseline,
        "reasons": [],
        "findings": [],
        "checks": checks(baseline=baseline),
        "throughput": None
        if baseline
        else throughput(dice, 1.0 + dice.gauss(0.02, 0.05), baseline_id(package, spec, pins)),
        "lock_digest": digest(stack),
        "image_digest": None,
        "build": "cpu" if package == "torch" else "default",
        "build_source": "local version" if package == "torch" else "not stated",
        "packages": packages(package, version, pins),
        "evidence": [digest(stack + spec), digest(spec + stack)],
        "mode": MODES[framework],
        "mode_why": "",
        "made": "2026-11-30T16:58:00Z",
        "device": "cpu",
        "device_name": "Example CPU @ 2.60GHz",
        "peak_memory_bytes": int(dice.uniform(4e8, 9e8)),
        "curves": curves(dice),
        "log": None,
        "seconds": {"resolve": 0.31, "build": dice.uniform(3, 9), "run": dice.uniform(8, 20), "measure": 30.1},
        "reused": {"resolve": True, "build": False, "run": False, "measure": False},
    }


def baseline_id(package: str, spec: str, pins: dict[str, str]) -> str:
    """Return the id of the baseline cell of a package's axis."""
    version = next(version for name, version in BASELINES if FRAMEWORKS[name] == FRAMEWORKS[package])
    return f"{package}{version}-py311" + "".join(f"-{name}{pin}" for name, pin in pins.items()) + f"-{spec}"


def checks(*, baseline: bool) -> list[dict[str, Any]]:
    """Return checks that all hold."""
    rows = [
        ("trajectory", "pass", 0.41, 1.0, "the nearest approach to the envelope is at step 17 (grad_norm)"),
        ("reference", "pass", 3.1e-15, 1e-9, "the float64 run agrees with the consensus of jax, tensorflow, torch"),
        ("determinism", "pass", "same bits", "same bits", "two runs gave the same losses and parameters"),
        ("versions", "pass", "38 of 38", "as locked", "what the process loaded is what the lock names"),
        ("throughput", "pass", 1.03, 0.9, "the interval does not lie below 0.9"),
    ]
    found = [dict(zip(("name", "outcome", "measured", "allowed", "why"), row, strict=True)) for row in rows]
    if baseline:
        found[-1].update(outcome="skip", measured=None, allowed=None, why="this is the baseline")
    return found


def throughput(dice: random.Random, middle: float, baseline: str) -> dict[str, Any]:
    """Return a ratio with its interval and fifteen rounds."""
    rounds = [middle * math.exp(dice.gauss(0, 0.025)) for _ in range(15)]
    ratio = sorted(rounds)[7]
    return {
        "ratio": ratio,
        "low": sorted(rounds)[3],
        "high": sorted(rounds)[11],
        "baseline": baseline,
        "confidence": 0.95,
        "rounds": rounds,
        "steps_per_second": dice.uniform(80, 400),
    }


def curves(dice: random.Random, steps: int = 30) -> dict[str, list[float]]:
    """Return a loss and a gradient norm that fall, each within its envelope of the reference."""
    loss = [1.2 + 3.0 * math.exp(-step / 9) + 0.05 * math.sin(step) for step in range(steps)]
    norm = [0.6 + 1.8 * math.exp(-step / 5) + 0.1 * math.sin(2 * step) for step in range(steps)]
    allowed = [4e-6 * 1.12**step for step in range(steps)]
    return {
        "loss": [value + dice.gauss(0, 0.08) * room for value, room in zip(loss, allowed, strict=True)],
        "reference_loss": loss,
        "loss_allowed": allowed,
        "grad_norm": [value + dice.gauss(0, 0.2) * room for value, room in zip(norm, allowed, strict=True)],
        "reference_grad_norm": norm,
        "grad_norm_allowed": [2 * room for room in allowed],
    }


def packages(package: str, version: str, pins: dict[str, str]) -> dict[str, str]:
    """Return some names as a lock would have them."""
    more = {f"dependency-{index:02d}": f"1.{index}.0" for index in range(34)}
    return {package: version, "numpy": "2.4.6", "packaging": "26.4", "typing-extensions": "4.16.0", **more, **pins}


def digest(text: str) -> str:
    """Return a SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def mark_incorrect(entry: dict[str, Any]) -> None:
    """Let the gradient norm leave its envelope at the third step."""
    room = entry["curves"]["grad_norm_allowed"]
    for step in range(2, len(room)):
        entry["curves"]["grad_norm"][step] += room[step] * (3 + step)
    why = "left the envelope at step 3 (grad_norm): differs by 4.1e-05, allowed 1.0e-05"
    entry["checks"][0].update(outcome="fail", measured=4.08, why=why)
    entry.update(verdict="incorrect", reasons=[why, "every later step is outside as well"])


def mark_drifted(entry: dict[str, Any]) -> None:
    """Let the loss leave its envelope by little at the last step."""
    curves = entry["curves"]
    curves["loss"][-1] = curves["reference_loss"][-1] + 1.7 * curves["loss_allowed"][-1]
    why = "drifts out of the envelope first in loss at step 30; at most 1.7 times what is allowed"
    entry["checks"][0].update(outcome="fail", measured=1.7, why=why)
    entry.update(verdict="drifted", reasons=[why])


def mark_regressed(entry: dict[str, Any]) -> None:
    """Make it slower than is allowed."""
    dice = random.Random(entry["id"])  # noqa: S311 - a sample, no secret
    baseline = entry["throughput"]["baseline"] if entry["throughput"] else entry["id"]
    entry["throughput"] = throughput(dice, 0.78, baseline)
    why = "0.78 of the baseline's speed; the whole interval lies below 0.9"
    entry["checks"][4].update(outcome="fail", measured=0.78, why=why)
    entry.update(verdict="regressed", reasons=[why])


def mark_broken(entry: dict[str, Any]) -> None:
    """Stop it at the start of its run."""
    log = [
        "Traceback (most recent call last):",
        '  File "worker.py", line 41, in run_job',
        "    session = target.session(job.device, job.threads)",
        "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory",
    ]
    entry.update(
        verdict="broken",
        level="inspected",
        reasons=["the worker ended with exit code 1: ImportError: libcudart.so.13: cannot open shared object file"],
        checks=[],
        throughput=None,
        curves=None,
        log=log,
        evidence=[],
        mode=None,
        mode_why=None,
        made=None,
        peak_memory_bytes=None,
        seconds={"resolve": 0.3, "build": 4.2, "run": 1.1},
    )


def put_in_image(entry: dict[str, Any], *failing: str) -> None:
    """Let it have run in an image that was looked into."""
    content = digest(f"image of {entry['id']}")
    layers = [["base", 130 * 2**20], ["cuda", 3 * 2**30], ["framework", 2**30], ["application", 94 * 2**20]]
    image = {
        "engine": "docker",
        "reference": f"stackproof/{entry['stack']['package']}{entry['stack']['version']}-py311:0a1b2c3d4e5f",
        "id": f"sha256:{digest('id')}",
        "content_digest": content,
        "base": f"debian:bookworm@sha256:{digest('base')}",
        "size": sum(size for _, size in layers),
        "layers": layers,
    }
    names = ("linking", "cuda-libraries", "architectures", "symbols", "packages", "hygiene", "drivers")
    looked = [
        {
            "name": name,
            "outcome": "fail" if name in failing else "pass",
            "measured": f"what {name} found",
            "allowed": "none",
            "why": f"{name} decides",
        }
        for name in names
    ]
    entry.update(image=image, image_digest=f"sha256:{content}", checks=[*looked, *entry["checks"]])
    entry["seconds"]["inspect"], entry["reused"]["inspect"] = 11.5, False
    if failing:
        entry.update(verdict="broken", reasons=[f"{name} decides" for name in failing])


def mark_incompatible(entry: dict[str, Any]) -> None:
    """Let a rule say that it cannot work."""
    finding = {
        "code": "SP507",
        "severity": "error",
        "components": ["jax", "numpy"],
        "message": "numpy 1.26.4 does not meet what jax 0.9.2 declares: numpy>=2.0.",
        "because": [{"fact": "jax 0.9.2 requires numpy>=2.0", "source": "package metadata, 2026-11-01 (documented)"}],
        "fix": ["numpy==2.4.6", "jax==0.6.2"],
    }
    told = [f"SP507: {finding['message']}", "mend: numpy==2.4.6; or jax==0.6.2", "stackproof explain SP507 says more"]
    _not_run(entry, verdict="incompatible", reasons=told, seconds={})
    entry["findings"] = [finding]


def mark_untested(entry: dict[str, Any]) -> None:
    """Leave it out of the run."""
    _not_run(entry, verdict="untested", reasons=["left out by --cell"], seconds={})


def _not_run(entry: dict[str, Any], verdict: str, reasons: list[str], seconds: dict[str, float]) -> None:
    nothing = dict.fromkeys(
        [
            "lock_digest",
            "build",
            "build_source",
            "mode",
            "mode_why",
            "made",
            "device",
            "device_name",
            "peak_memory_bytes",
        ]
    )
    entry.update(
        nothing, level="declared", checks=[], throughput=None, curves=None, packages={}, evidence=[], reused={}
    )
    entry.update(verdict=verdict, reasons=reasons, seconds=seconds)
