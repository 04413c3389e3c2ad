"""What is wrong with a file of data, and where files may lie."""

from __future__ import annotations

from pathlib import Path

from ..errors import Fault, InputError


def wrong(path: Path | str, what: str) -> InputError:
    """Return the error of a file or folder.

    Args:
        path: The file, as the user named it.
        what: What is wrong with it and how to mend it.
    """
    return InputError(str(path), [Fault("", what)])


def wrong_key(key: str, what: str) -> InputError:
    """Return the error of a setting, such as `data.batch`."""
    return InputError("data", [Fault(key, what)])


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder.

    Raises:
        InputError: The name leads out of the folder, also by a link, or no regular file lies there.
    """
    path = folder / name
    home = folder.resolve()
    if Path(name).is_absolute() or home not in path.resolve().parents:
        raise wrong(path, f"lies outside of {folder}: copy it into the folder, and name it relative to the folder")
    if not path.is_file():
        raise wrong(path, "is no file: correct its name, or put the file there")
    return path


def listed(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    """Return a folder's files with one of these endings, sorted by name; hidden ones are left out.

    Raises:
        InputError: A file is a link that leads out of the folder.
    """
    names = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in endings)
    return [inside(folder, name) for name in names if not name.startswith(".")]


def content_of(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise wrong(path, f"cannot be read ({error.strerror}): give the right to read it, or copy it anew") from error
