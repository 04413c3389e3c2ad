"""The `RUN` steps of layers. Each binds its context's folder `in` to /mnt, which bases have, so that nothing is left.

    in/uv           the program that makes environments and installs
    in/finish.py    compiles what is new, takes rights off it, sets its times
    in/NAME.txt     requirements of the layer NAME, with hashes
    in/wheels/      wheels

Steps need no network. What a step must not leave lies below one folder, which it removes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .safe import check_path
from .settings import PREFIX, PYTHON, USER

if TYPE_CHECKING:
    from ..bases.base import Base
    from .settings import ImageSettings

COMPAT: Final = "/usr/local/cuda/compat"
"""Where NVIDIA's forward-compatibility packages put their driver libraries."""

_MADE: Final = "/opt/.make"
_MOUNT: Final = "--mount=type=bind,source=in,target=/mnt"
_BEGIN: Final = (
    "umask 022",
    f"export HOME={_MADE} TMPDIR={_MADE} UV_CACHE_DIR={_MADE}/uv UV_PYTHON_DOWNLOADS=never PYTHONHASHSEED=0",
    f"mkdir -p {_MADE}",
)
_USER_ALREADY: Final = f"the base has a user or group stack, or the number {USER}, already: take another base"
_USER: Final = (
    f"if grep -qE '^stack:|^[^:]*:[^:]*:{USER}:' /etc/passwd /etc/group; then echo '{_USER_ALREADY}' >&2; exit 1; fi",
    f"echo 'stack:x:{USER}:{USER}::/home/stack:/usr/sbin/nologin' >> /etc/passwd",
    f"echo 'stack:x:{USER}:' >> /etc/group",
    "mkdir -p /home/stack",
    f"chown {USER}:{USER} /home/stack",
)
_NO_COMPAT: Final = f"the base has no {COMPAT}/libcuda.so.1: take one with the cuda-compat package"
_CHECK_COMPAT: Final = f"if ! test -e {COMPAT}/libcuda.so.1; then echo '{_NO_COMPAT}' >&2; exit 1; fi"
_INSTALL: Final = (
    f"/mnt/uv --no-config --offline pip install --no-index --find-links /mnt/wheels --require-hashes --no-deps"
    f" --only-binary :all: --no-compile-bytecode --python {PYTHON}"
)


def environment_step(base: Base, settings: ImageSettings) -> str:
    """Return the step that makes the user and the empty environment.

    Args:
        base: The image that it runs in.
        settings: How images are made.

    Raises:
        InputError: The base's interpreter is no path.
    """
    python = check_path(base.interpreter, "base: interpreter")
    checks = (_CHECK_COMPAT,) if settings.forward_compat else ()
    make = f"/mnt/uv --no-config --offline venv --no-project --python {python} {PREFIX}"
    return _run(*checks, *_BEGIN, *_USER, make, *_end(python, "/home/stack /home /etc/passwd /etc/group /etc"))


def packages_step(name: str, base: Base) -> str:
    """Return the step that installs the packages of a layer.

    Args:
        name: The layer's name.
        base: The image that it runs in.

    Raises:
        InputError: The base's interpreter is no path.
    """
    python = check_path(base.interpreter, "base: interpreter")
    return _run(*_BEGIN, f"{_INSTALL} -r /mnt/{name}.txt", *_end(python))


def _end(python: str, changed: str = "") -> tuple[str, str]:
    return f"rm -rf {_MADE}", f"{python} -s -S /mnt/finish.py {PREFIX} /opt {changed}".rstrip()


def _run(*commands: str) -> str:
    """Return one `RUN` in the JSON form, a command a line: a backslash at the end of a line joins it with the next."""
    script = " && \\\n".join(command.replace("\\", r"\\").replace('"', r"\"") for command in commands)
    return f'RUN {_MOUNT} ["/bin/sh", "-euc", "\\\n{script}"]\n'
