"""Small wheels, whole by the wheel specification, for tests that install or fetch."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TIME = (2024, 1, 1, 0, 0, 0)


def write_wheel(
    folder: Path, name: str, version: str, tag: str = "py3-none-any", files: Mapping[str, str] | None = None
) -> str:
    """Write a wheel and return its hash as `sha256:…`.

    Args:
        folder: Where to.
        name: Distribution name, normalised.
        version: Its version.
        tag: Its tag.
        files: Further files by their path in the environment; a module of the distribution's name if not given.
    """
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    content = {
        **(files if files is not None else {f"{module}.py": f"VERSION = {version!r}\n"}),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},{_hash(text)},{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in content.items():
            archive.writestr(zipfile.ZipInfo(place, _TIME), text)
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def _hash(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
