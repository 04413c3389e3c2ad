"""Calls that the `docker` package has no method for: raw requests, and streams of JSON lines that can be ended early.

The package's client is a `requests.Session`, so its public `request` reaches every path of the API; nothing private of
the package is used.
"""

from __future__ import annotations

import codecs
import contextlib
import json
from typing import IO, TYPE_CHECKING, Any, Final

from . import sdk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .connect import Engine

_CHUNK: Final = 64 * 1024
_LONGEST_LINE: Final = 16 * 1024 * 1024


def call(  # noqa: PLR0913 - the parts of an HTTP request
    engine: Engine,
    method: str,
    path: str,
    *,
    params: Mapping[str, str | list[str]] | None = None,
    data: Iterable[bytes] | IO[bytes] | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float | None = 60.0,
) -> sdk.Response:
    """Send a request to an engine and return its response, whose body is not read yet.

    Args:
        engine: The engine.
        method: Such as `POST`.
        path: Path below the API's version, such as `/build`.
        params: The query.
        data: The body.
        headers: Headers on top of the usual ones.
        timeout: Seconds for each reading from the connection; None for no limit.

    Raises:
        docker.errors.APIError: The engine refused.
        requests.exceptions.RequestException: The connection failed.
    """
    api = engine.client.api
    address = f"{api.base_url}/v{api.api_version}{path}"
    response = api.request(method, address, params=params, data=data, headers=headers, stream=True, timeout=timeout)
    try:
        response.raise_for_status()
    except sdk.requests().exceptions.HTTPError as error:
        sdk.docker().errors.create_api_error_from_http_exception(error)
    return response


def interrupt(response: sdk.Response) -> None:
    """End a response that another thread is reading: that thread sees the end of the stream."""
    with contextlib.suppress(Exception):  # it may have ended already, in any of many ways
        response.raw.shutdown()


def read_lines(response: sdk.Response) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a stream, whether or not line ends part them.

    Raises:
        requests.exceptions.InvalidJSONError: What came is not JSON.
        requests.exceptions.RequestException: The connection failed.
    """
    decoder, text, held = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8")("replace"), ""
    with contextlib.closing(response):
        for chunk in response.iter_content(_CHUNK):
            held += text.decode(chunk)
            while held := held.lstrip():
                try:
                    document, end = decoder.raw_decode(held)
                except ValueError:
                    if held[0] != "{" or len(held) > _LONGEST_LINE:
                        raise sdk.requests().exceptions.InvalidJSONError("not JSON") from None
                    break
                if not isinstance(document, dict):
                    raise sdk.requests().exceptions.InvalidJSONError("not an object")
                held = held[end:]
                yield document
    if held.strip():
        raise sdk.requests().exceptions.InvalidJSONError("cut off")
