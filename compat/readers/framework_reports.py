"""Reports of Lightning, detectron2 and MMCV, and torch's account of its own build."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .actions import note_system_roughly
from .known_lines import is_known
from .patterns import Lazy
from .reading import cuda_build

if TYPE_CHECKING:
    from .reading import Reading

_SECTION: Final = Lazy(r"\s*[*-]\s+(CUDA|Lightning|Packages|System|Dependencies):\s*")
_ENTRY: Final = Lazy(r"\s+[-*]\s+([A-Za-z0-9][^:]*?):\s*(\S.*)?")
_ITEM: Final = Lazy(r"\s+[-*]\s+(\S.*)")
_RELEASE: Final = Lazy(r"\d[\w.+!\-]*")

_BUILT_WITH: Final = Lazy(r"\s*(?:PyTorch compiling details\s*:\s*)?PyTorch built with:\s*")
_BUILT_LINE: Final = Lazy(r"\s+- (\S.*)|- (\S.*)")
_RUNTIME: Final = Lazy(r"CUDA Runtime (\d+\.\d+)")
_CODE: Final = Lazy(r"code=((?:sm|compute)_\d+[a-z]?)")

_PLACED: Final = Lazy(r"([A-Za-z][\w.\-]*)\s+(\d[\w.+]*)\s+@\S.*")
_GPUS: Final = Lazy(r"GPU (\d+(?:,\d+)*)(?:\s*:\s*|\s{2,})(\D.*)")
_COMPILER: Final = Lazy(r"(?:(MMCV) )?CUDA [Cc]ompiler(?:\s*:\s*|\s{2,})(?:CUDA )?(\d+\.\d+)")
_TOOLKIT: Final = Lazy(r"NVCC(?:\s*:\s*|\s{2,})Build cuda_(\d+\.\d+)\S*")
_PLATFORM: Final = Lazy(r"sys\.platform(?:\s*:\s*|\s{2,})(linux|win32|darwin)")
_ASIDE: Final = Lazy(
    r"(?:Compiler(?: \(\$CXX\))?|[\w.]+ arch flags|DETECTRON2_ENV_MODULE|PyTorch [Dd]ebug [Bb]uild|GPU available|"
    r"CUDA available|CUDA_HOME|torch\._C\._GLIBCXX_USE_CXX11_ABI|numpy_random_seed|GCC|MMCV Compiler|MSVC|"
    r"PyTorch compiling details)(?:\s*:|\s{2,}).*"
)
_SYSTEMS: Final = {"linux": "Linux", "win32": "Windows", "darwin": "macOS"}
_FIRST: Final = "*-P "


def read_block(reading: Reading, lines: list[str], index: int) -> int:
    """Read Lightning's report or torch's account of its build that starts at a line; return the index after it."""
    line = lines[index]
    if line[:1] not in _FIRST:
        return index
    if "built with" in line and _BUILT_WITH.fullmatch(line):
        return _read_build(reading, lines, index + 1)
    if line.endswith(":") and (section := _SECTION.fullmatch(line)) is not None and section[1] in {"CUDA", "Lightning"}:
        return _read_lightning(reading, lines, index)
    return index


def read_line(reading: Reading, line: str, where: str) -> bool:
    """Read a line of detectron2's or MMCV's table; return whether it is one."""
    if match := _PLACED.fullmatch(line):
        reading.reports = True
        reading.add_package(match[1], match[2], where)
    elif line.startswith("GPU ") and (match := _GPUS.fullmatch(line)):
        for _ in match[1].split(",")[:16]:
            reading.add_gpus(match[2], where)
    elif match := _COMPILER.fullmatch(line):
        reading.gathered.built_against.append(("mmcv" if match[1] else "detectron2", "cuda", match[2]))
    elif match := _TOOLKIT.fullmatch(line):
        reading.add("cuda", match[1], where)
    elif match := _PLATFORM.fullmatch(line):
        note_system_roughly(reading, _SYSTEMS[match[1]], where)
    else:
        return _ASIDE.fullmatch(line) is not None
    return True


def note_torch_build(reading: Reading, texts: list[str], where: str) -> None:
    """Note what torch says it was built with: its CUDA, and the architectures of its code.

    Its cuDNN is its own, and says nothing of one that is installed beside it.
    """
    reading.reports = True
    for text in texts:
        if (match := _RUNTIME.fullmatch(text)) and (build := cuda_build(match[1])):
            reading.add_build("torch", build, where)
        elif text.startswith("NVCC architecture flags"):
            reading.gathered.arch_list += dict.fromkeys(groups[0] for groups in _CODE.groups(text))


def _read_build(reading: Reading, lines: list[str], index: int) -> int:
    texts: list[str] = []
    start = index
    while index < len(lines) and (match := _BUILT_LINE.fullmatch(lines[index])) is not None:
        texts.append((match[1] or match[2]).strip())
        index += 1
    note_torch_build(reading, texts, reading.where(start - 1))
    return index


def _read_lightning(reading: Reading, lines: list[str], index: int) -> int:
    section = key = ""
    while index < len(lines):
        line, where = lines[index], reading.where(index)
        if match := _SECTION.fullmatch(line):
            section, key = match[1], ""
        elif match := _ENTRY.fullmatch(line):
            key = "" if match[2] else match[1]
            _note_entry(reading, section, (match[1], (match[2] or "").strip()), where)
        elif (match := _ITEM.fullmatch(line)) and key:
            _note_item(reading, key, match[1].strip(), where)
        elif line.strip():
            break
        index += 1
    return index


def _note_entry(reading: Reading, section: str, entry: tuple[str, str], where: str) -> None:
    name, value = entry
    if section == "CUDA":
        if name == "version" and (build := cuda_build(value)):
            reading.add_build("torch", build, where)
    elif section == "System":
        _note_system(reading, name, value, where)
    elif _RELEASE.fullmatch(value):
        reading.reports = True
        reading.add_package(name, value, where)
    elif value and not is_known(f"{name}: {value}"):
        reading.skip(f"{name}: {value}")


def _note_system(reading: Reading, name: str, value: str, where: str) -> None:
    if name == "python" and re.match(r"\d\.\d", value):
        reading.add("python", value, where)
    elif name == "OS" and value:
        note_system_roughly(reading, value, where)
    elif name == "processor" and value in {"x86_64", "aarch64", "arm64"}:
        reading.add("machine", value, where)


def _note_item(reading: Reading, key: str, value: str, where: str) -> None:
    if key == "GPU":
        reading.add_gpus(value, where)
    elif key != "architecture":
        reading.skip(f"{key}: {value}")
