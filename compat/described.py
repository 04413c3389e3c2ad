"""A stack as somebody described it: what is known of each component, where it was read, and what was not understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from .known import Known, parse_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Components that are no packages, by the names that findings use. `cuda` is the installed toolkit, `driver_cuda` the
# CUDA level that the driver reports, `gpu` a name and `compute_capability` a number such as 8.6, one for each device.
COMPONENTS: Final = (
    "driver",
    "driver_cuda",
    "cuda",
    "cudnn",
    "nccl",
    "gpu",
    "compute_capability",
    "glibc",
    "libstdcxx",
    "python",
    "os",
    "machine",
    "nvidia-fabricmanager",
)

# Components of which a host may have several that are all true.
PLURAL: Final = frozenset({"gpu", "compute_capability"})


@dataclass(frozen=True, slots=True)
class Claim:
    """What one place says of one component.

    Attributes:
        text: The value as written.
        where: The place, such as `stack.json: packages.torch` or `freeze.txt:12`.
    """

    text: str
    where: str


@dataclass(frozen=True, slots=True)
class Library:
    """A shared library as the loader would map it, or as it lies in an installed package.

    Attributes:
        soname: Such as `libcudnn.so.9`.
        path: Where it lies.
        version: What the library itself says, if it could be asked.
        owner: The installed package that brought it, if one did.
        also_owned_by: Other installed packages that claim the same file.
        mapped_by: The framework whose own libraries have the loader map this one; None where it is only said to lie
            there.
        missing: Whether it is not there: a package claims the file, or (with `mapped_by`) the loader finds none.
        optional: Whether, where it is missing, its framework only opens it by name when a GPU is used.
        altered: Whether the file has not the size that its owner's record gives.
        needs: What a framework's own library needs of the system: `("glibc", "2.28")`, `("libstdcxx", "3.4.29")`.
    """

    soname: str
    path: str
    version: str | None = None
    owner: str | None = None
    also_owned_by: tuple[str, ...] = ()
    mapped_by: str | None = None
    missing: bool = False
    optional: bool = False
    altered: bool = False
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Description:
    """A stack as described. `gather.Gathered` makes one.

    Attributes:
        known: What is known of each component and package, by canonical name. Several entries contradict each other,
            except for `PLURAL` components.
        packages: The names in `known` that are packages.
        claims: Where each was read, in the same names.
        extras: Extras asked for, by package: `{"tensorflow": {"and-cuda"}}`.
        env_vars: Environment variables that were shown.
        arch_list: Architectures that the installed framework itself lists, such as `sm_80`; empty if not shown.
        arch_range: Lowest and highest compute capability that the framework itself says it supports.
        origins: Where packages come from: `pip`, `conda`, `source`, `container`.
        required: Requirements that the description states of packages without installing them, such as
            `ml-dtypes>=0.5.0`.
        built_against: What a binary says it was built against: (package, component, version).
        libraries: Shared libraries of a live environment.
        floating: Packages asked for without any version, so that an installer chooses.
        not_understood: Lines or fields that were not used, as written.
    """

    known: Mapping[str, tuple[Known, ...]] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    claims: Mapping[str, tuple[Claim, ...]] = field(default_factory=dict)
    extras: Mapping[str, frozenset[str]] = field(default_factory=dict)
    env_vars: Mapping[str, str] = field(default_factory=dict)
    arch_list: tuple[str, ...] = ()
    arch_range: tuple[str, str] | None = None
    origins: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()
    built_against: tuple[tuple[str, str, str], ...] = ()
    libraries: tuple[Library, ...] = ()
    floating: frozenset[str] = frozenset()
    not_understood: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Return whether nothing at all was understood."""
        return not (self.known or self.env_vars or self.arch_list or self.libraries or self.required)

    @property
    def contradicts_itself(self) -> bool:
        """Return whether different things are said of any component."""
        if sum(map(len, self.known.values())) == len(self.known):
            return False
        return any(len(found) > 1 and name not in PLURAL for name, found in self.known.items())

    def contradictions(self) -> dict[str, tuple[Known, ...]]:
        """Return the components of which different things are said."""
        return {name: found for name, found in self.known.items() if len(found) > 1 and name not in PLURAL}


def describe(components: Mapping[str, str], packages: Mapping[str, str] | None = None) -> Description:
    """Return a description of single values, for programs that know what they have.

    Args:
        components: Values by the names of `COMPONENTS`.
        packages: Versions by normalised package name.

    Raises:
        ValueError: A package's version is none.
    """
    known: dict[str, tuple[Known, ...]] = {}
    for name, text in (*components.items(), *(packages or {}).items()):
        parsed = parse_known(text) if name not in {"gpu", "os", "machine"} else parse_name(text)
        if parsed is None:
            raise ValueError(f"{text!r} is no version of {name}")
        known[name] = (parsed,)
    return Description(known, frozenset(packages or ()))


def parse_name(text: str) -> Known:
    """Return a value that is a name and no version, such as a GPU's or a system's; the same object for one text."""
    return _NAMES.setdefault(text, Known(text))


def canonical(values: Iterable[Known]) -> tuple[Known, ...]:
    """Return values without repetitions, in the order met."""
    return tuple(dict.fromkeys(values))


_NAMES: dict[str, Known] = {}
