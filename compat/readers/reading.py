"""What a reader holds while it reads one input: where it is, what it found, and what can be decided only at the end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from .gpus import split_gpus
from .names import INDEXED, package_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ..gather import Gathered
    from .dockerfile import Stage
    from .markers import Surroundings

MOST_SKIPPED: Final = 200  # entries of one input in what was not understood
_MACHINES: Final = {"amd64": "x86_64", "x64": "x86_64"}
_CUDNN_9: Final = 90_000  # from here on, a major version counts 10000 and no longer 1000
LONGEST_LINE: Final = 65_536
LONGEST_FACT: Final = 2048  # characters of a line in which facts are looked for
MOST_TRIES: Final = 20  # at documents in one input
MOST_OTHERS: Final = 20_000  # lines and blocks of one input that are none of a frozen environment
MOST_PROSE: Final = 20_000  # lines of one input that are none of a description


class Follow(Protocol):
    """Reads a file that an input includes."""

    def __call__(self, path: str, where: str, *, limits: bool) -> None:
        """Read it.

        Args:
            path: The path as written, relative to the input.
            where: The place of the include.
            limits: Whether it holds constraints, which install nothing.
        """


@dataclass(frozen=True, slots=True)
class Weak:
    """A line that names a package only if the lines around it do the same: one bare word, or a word and a number."""

    name: str
    version: str
    where: str
    line: str


@dataclass(eq=False)
class Reading:
    """The state of reading one input.

    Attributes:
        name: The input's name as shown to users.
        gathered: Where findings go; shared by all inputs.
        later: What is done when every input is read, because it needs the whole; shared by all inputs.
        follow: Reads a file that the input includes.
        weak: Lines to be judged when the whole input is read.
        index_build: The build that untagged packages of the PyTorch index come with, such as `cu124`.
        reports: Whether the input reports of a machine, and so is no list of what shall be installed.
        prose: How many lines were no description of anything.
        others: How many lines and blocks were none of a frozen environment.
        in_smi: Whether the lines are those of nvidia-smi.
        stages: Stages of a Dockerfile, to be read when the last one is known.
        install_build: The build that a variable for installers gives untagged packages of the PyTorch index.
        toolkits: What conda packages say of CUDA, with the place, by package.
        tries: How often lines looked like a document but were none, or one that is cut.
        has_tables: Whether any line is the head of a TOML table; None where nobody looked yet.
    """

    name: str
    gathered: Gathered
    later: list[Callable[[Gathered, Surroundings], None]]
    follow: Follow
    weak: list[Weak] = field(default_factory=list)
    index_build: str | None = None
    reports: bool = False
    prose: int = 0
    others: int = 0
    in_smi: bool = False
    stages: list[Stage] = field(default_factory=list)
    install_build: str | None = None
    toolkits: dict[str, tuple[str, str]] = field(default_factory=dict)
    tries: int = 0
    has_tables: bool | None = None

    def where(self, index: int) -> str:
        """Return the place of a line, counted from 0."""
        return f"{self.name}:{index + 1}"

    def skip(self, text: str) -> None:
        """Note something not understood."""
        self.gathered.skip(text)

    def close(self, before: int) -> None:
        """Keep the first 200 of what this input added to what was not understood, and say how many more there are.

        Args:
            before: How many entries there were before this input.
        """
        skipped = self.gathered.not_understood
        if (more := len(skipped) - before - MOST_SKIPPED) > 0:
            del skipped[before + MOST_SKIPPED :]
            self.gathered.skip(f"{self.name}: and {more} more lines")

    def add(self, component: str, text: str, where: str) -> None:
        """Note a component that the input reports of a machine."""
        self.reports = True
        if component == "machine":
            self.gathered.add_component(component, _MACHINES.get(text.lower(), text), where)
        elif component == "gpu":
            self.add_gpus(text, where)
        elif component in _SHORTENED:
            self.gathered.add_component(component, _SHORTENED[component](text), where)
        else:
            self.gathered.add_component(component, text, where)

    def add_gpus(self, text: str, where: str) -> None:
        """Note the GPUs that a text names, with their compute capabilities."""
        self.reports = True
        for card in split_gpus(text):
            for _ in range(card.count):
                self.gathered.add_component("gpu", card.name, where)
            if card.capability:
                self.gathered.add_component("compute_capability", card.capability, where)

    def add_package(self, name: str, version: str, where: str, extras: Collection[str] = ()) -> None:
        """Note a package under its name in the package index."""
        self.gathered.add_package(package_name(name), version, where, extras)

    def add_build(self, name: str, build: str, where: str) -> None:
        """Note which build a package is, where its version is said elsewhere or not at all."""
        self.gathered.add_package(name, f"*+{build}", where)

    def float(self, name: str) -> None:
        """Note that nothing fixes a package's version, so that an installer chooses."""
        self.gathered.floating.add(package_name(name))

    def tag(self, name: str, version: str, build: str | None = None) -> str:
        """Return a version with the build that the index of this input gives an untagged package."""
        found = build or self.index_build
        return f"{version}+{found}" if found and "+" not in version and name in INDEXED else version


def shorten_cudnn(text: str) -> str:
    """Return cuDNN's version without its build number, and an integer such as 8902 or 90100 with dots."""
    plain = text.strip()
    if re.fullmatch(r"\d{4,6}", plain):
        number = int(plain)
        major = 1000 if number < _CUDNN_9 else 10_000
        return f"{number // major}.{number % major // 100}.{number % 100}"
    return re.sub(r"(\d+\.\d+\.\d+)\.\d+", r"\1", plain[:200])


def shorten_cuda(text: str) -> str:
    """Return a toolkit's version without a build number: nvcc of CUDA 12.8.1 calls itself 12.8.93."""
    match = re.fullmatch(r"(\d{1,2}\.\d{1,2})\.\d{2,3}", text.strip())
    return match[1] if match else text


_SHORTENED: Final = {"cudnn": shorten_cudnn, "cuda": shorten_cuda}


def cuda_level(integer: str) -> str:
    """Return a CUDA level that is written as an integer: 11040 is 11.4."""
    number = int(integer)
    return f"{number // 1000}.{number % 1000 // 10}"


def cuda_build(version: str) -> str | None:
    """Return the build tag of a CUDA version, `cu121` for 12.1; None where the text is none."""
    match = re.match(r"(\d{1,2})\.(\d)(?!\d)", version.strip())
    return f"cu{match[1]}{match[2]}" if match else None
