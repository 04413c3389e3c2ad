"""The pages hold together: links lead somewhere, commands are ones the program takes, and nothing is left out."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stackproof.matrix.cli.parser import make_parser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
PACKAGES = ("backends", "compat", "containers", "matrix")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", read(page)), re.MULTILINE)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower() for title in titles]
    return {re.sub(r"[^\w\- ]", "", word).replace(" ", "-") for word in words}


def links() -> Iterator[tuple[Path, str]]:
    for page in PAGES:
        yield from ((page, target) for target in LINK.findall(FENCE.sub("", read(page))))


def commands() -> Iterator[tuple[str, str]]:
    """Yield every command line of the pages that runs stackproof, from blocks of code and from spans of it."""
    for page in PAGES:
        text = read(page)
        lines = [line.strip() for line in text.splitlines() if line.startswith("    ")]
        for line in [*lines, *re.findall(r"`([^`\n]+)`", text)]:
            for part in re.split(r"\s*&&\s*", line):
                if re.match(r"(\S*/)?stackproof [a-z-]", part):
                    yield name_of(page), part


def subcommands() -> dict[str, argparse.ArgumentParser]:
    (found,) = [action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(found.choices)


def section(text: str, title: str) -> str:
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    return str(found)


@pytest.mark.parametrize(("page", "target"), list(links()), ids=lambda value: str(getattr(value, "name", value)))
def test_a_link_leads_somewhere(page: Path, target: str) -> None:
    if target.startswith("https://"):
        return
    place, _, anchor = target.partition("#")
    goal = (page.parent / place).resolve() if place else page
    assert goal.exists()
    assert goal.is_relative_to(ROOT)
    assert not anchor or anchor in anchors(goal)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_no_folder_of_one_machine(page: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:home|root|tmp|work|opt)/\S*", read(page))


def test_commands_are_found() -> None:
    assert len(list(commands())) > 10


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_a_command_is_one_that_the_program_takes(page: str, command: str) -> None:
    # `[options]` stands in a command's general form; a command's bare name is a mention of it.
    words = [word for word in shlex.split(command)[1:] if word != "[options]"]
    if words[0] in {"--help", "--version"}:
        return
    assert words[0] in subcommands()
    if len(words) == 1:
        return
    try:
        make_parser().parse_args(words)
    except SystemExit as error:
        pytest.fail(f"{page}: {command!r} is refused with {error.code}")


@pytest.mark.parametrize("name", list(subcommands()))
def test_the_command_page_names_every_option(name: str) -> None:
    text = read(ROOT / "docs" / "cli.md")
    known = section(text, name) + section(text, "Options of every command")
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", known))
    options = {word for action in subcommands()[name]._actions for word in action.option_strings}
    assert options <= documented
    own = set(re.findall(r"^\| `(--[a-z-]+)", section(text, name), re.MULTILINE))
    assert own <= options


def test_the_architecture_page_names_every_module() -> None:
    text = section(read(ROOT / "docs" / "architecture.md"), "Files")
    listed = set()
    for heading, table in re.findall(r"^\*\*(.*?)\*\*\n(.*?)(?=^\*\*|\Z)", text, re.DOTALL | re.MULTILINE):
        for folder in re.findall(r"`([^`]+)/`", heading):
            listed |= {f"{folder}/{name}" for name in re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)}
    there = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    targets = {name for name in listed if name.startswith("backends/on_")}
    missing = {name for name in there - listed if not name.endswith("__init__.py")}
    assert missing == set()
    assert listed - there <= targets
