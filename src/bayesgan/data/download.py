"""Download a file: resume it after a stop, and put it in its place only once its md5 is right."""

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from bayesgan import __version__
from bayesgan.base.errors import BayesganError

CHUNK = 1 << 16
PASSING = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)  # refusals that are worth another try


@dataclass(frozen=True)
class RemoteFile:
    """A file to download."""

    name: str
    urls: tuple[str, ...]  # in the order in which they are tried
    size: int  # in bytes
    md5: str


class _FailedError(Exception):
    """A try that did not bring the whole file."""

    def __init__(self, why: str, for_good: bool = False) -> None:
        super().__init__(why)
        self.for_good = for_good  # the same place need not be asked again


def fetch(
    file: RemoteFile,
    folder: Path,
    report: Callable[[int], None] = lambda done: None,
    timeout: float = 30.0,
    tries: int = 5,
    pause: float = 1.0,
) -> Path:
    """Download ``file`` into ``folder`` and give its path; ``report`` is told how many bytes are there.

    A stop leaves ``.partial-NAME`` behind, which is resumed. A server that is silent for ``timeout`` seconds has
    failed. All places are tried ``tries`` times, with pauses of ``pause`` seconds, twice that, ….
    """
    path = folder / file.name
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _try_all(file, path, report, timeout, tries, pause)
        elif md5(path) != file.md5:
            raise BayesganError(f"{path} is not the official file: move it away, then run the same command again.")
    except OSError as error:
        raise BayesganError(f"Cannot write {path}: {error.strerror or error}.") from None
    return path


def md5(path: Path) -> str:
    """The md5 of a file, in hexadecimal."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def _try_all(
    file: RemoteFile, path: Path, report: Callable[[int], None], timeout: float, tries: int, pause: float
) -> None:
    partial = path.with_name(f".partial-{path.name}")
    urls = list(file.urls)
    reason = ""
    for number in range(tries):
        for url in tuple(urls):
            try:
                _download(url, partial, file, report, timeout)
            except _FailedError as failed:
                reason = f"{url}: {failed}"
                if failed.for_good:
                    urls.remove(url)
            else:
                partial.replace(path)
                return
        if not urls:
            break
        if number + 1 < tries:
            time.sleep(pause * 2**number)
    raise BayesganError(
        f"{file.name} could not be downloaded ({reason}): run the same command again later, or get the file in another"
        f" way and put it into {path.parent}."
    )


def _download(url: str, partial: Path, file: RemoteFile, report: Callable[[int], None], timeout: float) -> None:
    """Bring ``partial`` to its full size and check it."""
    start = partial.stat().st_size if partial.exists() else 0
    if start > file.size:
        partial.unlink()
        start = 0
    if start < file.size:
        headers = {"User-Agent": f"bayesgan/{__version__}"} | ({"Range": f"bytes={start}-"} if start else {})
        with _network(partial):
            response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout)
        with response:
            start = _receive(response, partial, file, start, report)
    if md5(partial) != file.md5:
        partial.unlink()
        # If only the end is from here, the fault may lie in the beginning.
        raise _FailedError("what it sent is not the official file, and was deleted", for_good=start == 0)


def _receive(
    response: http.client.HTTPResponse, partial: Path, file: RemoteFile, start: int, report: Callable[[int], None]
) -> int:
    """Append the answer to ``partial``, never more than the file has; return the byte at which it starts."""
    if response.status != HTTPStatus.PARTIAL_CONTENT:
        start = 0  # it does not know about parts, and sends everything
    elif not (response.headers["Content-Range"] or "").startswith(f"bytes {start}-"):
        partial.unlink(missing_ok=True)
        raise _FailedError("it sent another part of the file than it was asked for")
    done = start
    report(done)
    with partial.open("ab" if start else "wb") as output:
        while done <= file.size:
            with _network(partial):
                chunk = response.read1(min(CHUNK, file.size + 1 - done))
            if not chunk:
                break
            output.write(chunk[: file.size - done])
            done += len(chunk)
            report(min(done, file.size))
        output.flush()
        os.fsync(output.fileno())
    if done > file.size:
        partial.unlink()
        raise _FailedError(f"it sent more than the {file.size} bytes of the official file", for_good=start == 0)
    if done < file.size:
        raise _FailedError(f"it stopped after {done} of {file.size} bytes")
    return start


@contextmanager
def _network(partial: Path) -> Iterator[None]:
    """Turn errors of the server and of the network into a failed try."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            partial.unlink(missing_ok=True)
            raise _FailedError("it does not have the rest of the file") from None
        lasting = 400 <= error.code < 500 and error.code not in PASSING
        raise _FailedError(f"it answered {error.code}", for_good=lasting) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise _FailedError(str(reason) or type(reason).__name__) from None
