"""What uv really wrote, provoked on purpose, is told apart."""

import errno

import pytest

from stackproof.compat.errors import OutsideError, StackproofError, UnsolvableError
from stackproof.containers.diagnose import diagnose, disk_error, tidy

NO_VERSION = """\
error: No solution found when resolving dependencies
  cause: Because there is no version of torch==99.0 and you require torch==99.0, we can conclude that your requirements\
 are unsatisfiable.
"""
CONFLICT = """\
error: No solution found when resolving dependencies
  cause: Because jax==0.10.2 depends on numpy>=2.0 and you require jax==0.10.2, we can conclude that you require\
 numpy>=2.0.
         And because you require numpy==1.20.0, we can conclude that your requirements are unsatisfiable.
"""
NO_WHEEL = """\
error: No solution found when resolving dependencies
  cause: Because tensorflow-cpu==2.5.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and you require\
 tensorflow-cpu==2.5.0, we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.11 (`cp311`), but we only found wheels for `tensorflow-cpu` (v2.5.0) with the following\
 Python ABI tags: `cp36m`, `cp37m`, `cp38`, `cp39`
"""
OLD_STYLE = """\
  \N{MULTIPLICATION SIGN} No solution found when resolving dependencies:
  ╰─▶ Because there is no version of torch==99.0 and you require torch==99.0, we can
      conclude that your requirements are unsatisfiable.
"""
REFUSED_CONNECTION = """\
error: Request failed after 3 retries in 9.3s
  cause: Failed to fetch: http://127.0.0.1:9/simple/six/
  cause: error sending request for url (http://127.0.0.1:9/simple/six/)
  cause: client error (Connect)
  cause: tcp connect error
  cause: Connection refused (os error 111)
"""
NO_DNS = """\
error: Failed to fetch: https://index.invalid/simple/six/
  cause: error sending request for url (https://index.invalid/simple/six/)
  cause: client error (Connect)
  cause: dns error
  cause: error resolving DNS
  cause: failed to lookup address information: Name or service not known
"""
BAD_CERTIFICATE = """\
error: Failed to fetch: https://localhost:18099/simple/six/
  cause: error sending request for url (https://localhost:18099/simple/six/)
  cause: client error (Connect)
  cause: invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))
"""
SERVER_ERROR = """\
error: Failed to fetch: http://127.0.0.1:18082/simple/six/
  cause: HTTP status server error (503 Service Unavailable) for url (http://127.0.0.1:18082/simple/six/)
"""
TIMED_OUT = """\
error: Failed to fetch: http://127.0.0.1:18098/simple/six/
  cause: error sending request for url (http://127.0.0.1:18098/simple/six/)
  cause: operation timed out
"""
NO_CREDENTIALS = """\
error: No solution found when resolving dependencies
  cause: Because six was not found in the package registry and you require six==1.17.0, we can conclude that your\
 requirements are unsatisfiable.

hint: An index URL (http://127.0.0.1:18083/simple) could not be queried due to a lack of valid authentication\
 credentials (401 Unauthorized)
"""
OFFLINE = """\
error: No solution found when resolving dependencies
  cause: Because six was not found in the cache and you require six, we can conclude that your requirements are\
 unsatisfiable.

hint: Packages were unavailable because the network was disabled. When the network is disabled, registry packages may\
 only be read from the cache.
"""
NO_LINKS = """\
error: Failed to read `--find-links` directory: /nonexistent/dir
  cause: No such file or directory (os error 2)
"""
NO_PYTHON = """\
error: No interpreter found for CPython 3.14 in virtual environments, managed installations, or search path
"""
DISK_FULL = """\
Using Python 3.11.7 environment at: m/e
Resolved 1 package in 40ms
warning: Failed to hardlink files; falling back to full copy. This may lead to degraded performance.
         If the cache and target directories are on different filesystems, hardlinking may not be supported.
error: Failed to install: numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl (numpy==2.4.6)
  cause: Failed to copy to `/cache/envs/0a1b/lib/python3.11/site-packages/numpy.libs/libgfortran.so`
  cause: failed to copy file from /home/uv/numpy.libs/libgfortran.so to /cache/envs/0a1b/.tmpspla0r: No space left on\
 device (os error 28)
"""
CACHE_FULL = """\
Downloading numpy (16.1MiB)
error: Failed to download `numpy==2.4.6`
  cause: Failed to extract archive: numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl
  cause: I/O operation failed during extraction
  cause: failed to write to file `/home/uv/.tmpVNs4ar/numpy/_core/_multiarray_umath.so`: No space left on device\
 (os error 28)
"""
READ_ONLY = """\
error: Failed to create virtual environment
  cause: failed to create directory `/cache/envs/0a1b`: Read-only file system (os error 30)
"""
NOT_MINE = """\
error: Failed to initialize cache at `nobody`
  cause: failed to create directory `/home/nobody`: Permission denied (os error 13)
"""
BAD_HASH = """\
Downloading numpy (16.1MiB)
error: Failed to download `numpy==2.4.6`
  cause: Hash mismatch for `numpy==2.4.6`

         Expected:
           sha256:0000000008d942dd57599e781f2472269ee7f2755fae407b4f67b2f0b17da3f1
           sha256:000000006c0829a18d9de1cb7eee50ec22ca639878d7240307ca0943d73cd2c4

         Computed:
           sha256:89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93
"""


@pytest.mark.parametrize(
    ("stderr", "kind", "tree"),
    [
        (NO_VERSION, "unsolvable", UnsolvableError),
        (CONFLICT, "unsolvable", UnsolvableError),
        (NO_WHEEL, "unsolvable", UnsolvableError),
        (OLD_STYLE, "unsolvable", UnsolvableError),
        (NO_PYTHON, "no-python", UnsolvableError),
        (REFUSED_CONNECTION, "unreachable", OutsideError),
        (NO_DNS, "unreachable", OutsideError),
        (BAD_CERTIFICATE, "unreachable", OutsideError),
        (SERVER_ERROR, "unreachable", OutsideError),
        (TIMED_OUT, "unreachable", OutsideError),
        (NO_CREDENTIALS, "refused", OutsideError),
        (OFFLINE, "offline", OutsideError),
        (NO_LINKS, "no-wheels", OutsideError),
        (DISK_FULL, "disk", OutsideError),
        (CACHE_FULL, "disk", OutsideError),
        (READ_ONLY, "disk", OutsideError),
        (NOT_MINE, "disk", OutsideError),
        (BAD_HASH, "mismatch", OutsideError),
        ("", "other", OutsideError),
        ("thread 'main' panicked at src/lib.rs:1:1", "other", OutsideError),
    ],
)
def test_failures_are_told_apart(stderr: str, kind: str, tree: type[StackproofError]) -> None:
    failure = diagnose(stderr)
    assert failure.kind == kind
    assert type(failure.error("resolving x")) is tree


def test_error_says_what_why_and_what_to_do() -> None:
    what, *why, mend = str(diagnose(NO_WHEEL).error("resolving tensorflow-cpu2.5.0-py311")).splitlines()
    assert what == "resolving tensorflow-cpu2.5.0-py311: no set of packages satisfies it."
    assert why[1].strip().startswith("Because tensorflow-cpu==2.5.0 has no wheels")
    assert why[2].strip().startswith("hint: You require CPython 3.11")
    assert mend.startswith("Name versions that exist")


def test_wrapped_sentences_are_joined() -> None:
    assert diagnose(OLD_STYLE).why.splitlines()[1].strip() == (
        "Because there is no version of torch==99.0 and you require torch==99.0, we can conclude that your requirements"
        " are unsatisfiable."
    )


def test_unreachable_index_names_the_settings() -> None:
    message = str(diagnose(REFUSED_CONNECTION).error("resolving x"))
    for setting in ("UV_DEFAULT_INDEX", "PIP_INDEX_URL", "UV_FIND_LINKS"):
        assert setting in message
    assert "Connection refused" in message


@pytest.mark.parametrize(
    ("stderr", "folder", "words"),
    [
        (DISK_FULL, "/cache/envs/0a1b/lib/python3.11/site-packages/numpy.libs", "no space is left"),
        (CACHE_FULL, "/home/uv/.tmpVNs4ar", "no space is left"),
        (READ_ONLY, "/cache/envs/0a1b", "read-only"),
        (NOT_MINE, "/home/nobody", "this user may not write there"),
    ],
)
def test_disk_failures_name_the_folder(stderr: str, folder: str, words: str) -> None:
    first = str(diagnose(stderr).error("building x")).splitlines()[0]
    assert folder in first
    assert words in first


def test_own_disk_failures_are_worded_alike() -> None:
    error = disk_error("building x", OSError(errno.ENOSPC, "No space left on device", "/cache/marker"))
    assert isinstance(error, OutsideError)
    assert str(error).startswith("building x: /cache/marker: no space is left on the disk.")


def test_hash_lists_are_left_out() -> None:
    assert "sha256:" not in str(diagnose(BAD_HASH).error("building x"))


def test_warnings_before_the_error_are_left_out() -> None:
    assert "hardlink" not in diagnose(DISK_FULL).why


def test_credentials_and_colours_are_taken_out() -> None:
    text = (
        "\x1b[1mfetch\x1b[0m https://user:s3cret@index.invalid/simple and http://token@index.invalid, mail a@b.invalid"
    )
    assert tidy(text) == "fetch https://index.invalid/simple and http://index.invalid, mail a@b.invalid"
    assert "p@ss" not in tidy("https://user:p@ss@index.invalid/")
