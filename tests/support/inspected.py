"""What an inspection found in an image, stated by what is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stackproof.compat.lock import Lock

SITE = "/opt/stack/lib/python3.11/site-packages"
IMAGE = {
    "engine": "docker",
    "reference": "stackproof/torch2.13.0-py311:0a1b2c3d4e5f",
    "id": f"sha256:{'1' * 64}",
    "content_digest": "2" * 64,
    "lock_digest": "3" * 64,
    "base": f"debian:bookworm@sha256:{'4' * 64}",
    "size": 3 * 2**30,
    "layers": [["base", 2**29], ["cuda", 2**31], ["framework", 2**29]],
}
# For each check, what an inspection or the answers hold where it fails, and the words of the reason.
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "linking": (
        {"elf.damaged": [{"file": f"{SITE}/torch/lib/libtorch.so", "error": "cut short"}]},
        "libtorch.so cannot be loaded: cut short",
    ),
    "cuda-libraries": (
        {
            "libraries": [
                {
                    "component": "cudart",
                    "soname": "libcudart.so.12",
                    "path": f"{SITE}/libcudart.so.12",
                    "owner": "torch",
                    "version": None,
                    "error": "undefined symbol",
                }
            ]
        },
        "libcudart.so.12 says no version: undefined symbol",
    ),
    "architectures": ({"architectures": {"torch": ["sm_70"]}}, "torch has no code for compute capability 9.0: sm_70"),
    "symbols": (
        {"elf.unmet": [{"file": f"{SITE}/a.so", "library": "libc.so.6", "version": "GLIBC_2.38"}]},
        "a.so needs GLIBC_2.38, which libc.so.6 does not have",
    ),
    "packages": ({"records.unrecorded": [f"{SITE}/extra.py"]}, "extra.py lies among the packages"),
    "hygiene": ({"listening": ["tcp 0.0.0.0:22"]}, "tcp 0.0.0.0:22 listens"),
    "drivers": (
        {"answers": [("535.183.01", {"predicted": False})]},
        "starts on driver 535.183.01 (CUDA 12.2), and the rules say that it would refuse it",
    ),
}


def answer(driver: str, *, loads: bool | None = True, predicted: bool | None = True, error: str | None = None) -> Any:
    """Return what a CUDA runtime said of a driver."""
    code = None if loads is None else 100 if loads else 35
    named = {"code": code, "name": "cudaError", "error": error, "level": "12.2", "version": "13.0"}
    return {"runtime": f"{SITE}/libcudart.so.13", "driver": driver, "loads": loads, "predicted": predicted, **named}


def inspection(lock: Lock, **changes: Any) -> dict[str, Any]:
    """Return what is found in a sound image of a lock; `changes` name their place as `elf.unmet`."""
    found: dict[str, Any] = {
        "schema_version": 1,
        "python": lock.python,
        "elf": {"files": 900, "asked": 880, "foreign": 0, "unresolved": [], "unmet": [], "damaged": []},
        "unreadable": [],
        "libraries": [],
        "architectures": {"torch": ["sm_90"]},
        "kernels": {"torch": {"sm_90": 476}},
        "symbols": {"GLIBC": {"has": "2.36", "needs": "2.28", "by": f"{SITE}/torch/lib/libtorch.so"}},
        "packages": {package.name: package.version for package in lock.packages},
        "records": {"missing": [], "altered": [], "unrecorded": [], "faults": []},
        **{name: [] for name in ("setuid", "world_writable", "capabilities", "listening", "leftovers")},
        "cut": {},
        "seconds": 6.5,
    }
    for place, value in changes.items():
        *above, name = place.split(".")
        (found[above[0]] if above else found)[name] = value
    return found


def looked(lock: Lock, *answers: Any, gpu: str = "H100", omitted: tuple[str, ...] = (), **changes: Any) -> Any:
    """Return the document of an image that was looked into, as the store has it."""
    given = [answer(driver, **how) for driver, how in changes.pop("answers", ())] or list(answers)
    drivers = {"schema_version": 1, "answers": given}
    found = inspection(lock, **changes)
    return {"image": IMAGE, "inspection": found, "drivers": drivers, "omitted": list(omitted), "gpu": gpu}
