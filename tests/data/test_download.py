import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import download
from bayesgan.data.download import RemoteFile
from tests.helpers.server import Server, serving

CONTENT = bytes(range(256)) * 4000  # a megabyte


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with serving(CONTENT) as running:
        yield running


def file(*urls: str) -> RemoteFile:
    return RemoteFile("file", urls, len(CONTENT), hashlib.md5(CONTENT).hexdigest())


def fetch(wanted: RemoteFile, folder: Path, **options: Any) -> Path:
    return download.fetch(wanted, folder, **{"timeout": 0.3, "pause": 0.01, "tries": 3} | options)


def there(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    reports: list[int] = []
    path = fetch(file(server.url()), tmp_path / "new" / "folder", report=reports.append)
    assert path.read_bytes() == CONTENT
    assert there(path.parent) == ["file"]
    assert reports == sorted(reports)
    assert (reports[0], reports[-1]) == (0, len(CONTENT))
    fetch(file(server.url()), path.parent)
    assert len(server.requests) == 1


@pytest.mark.parametrize("fault", ["truncate", "stall"])
def test_what_is_there_is_gone_on_with(fault: str, server: Server, tmp_path: Path) -> None:
    server.faults = [fault]
    assert fetch(file(server.url()), tmp_path).read_bytes() == CONTENT
    assert [asked for _, asked in server.requests] == [None, f"bytes={len(CONTENT) // 2}-"]


@pytest.mark.parametrize(
    "faults",
    [
        ["truncate", "truncate"],
        ["500", "503"],
        ["429", "408"],
        ["redirect"],
        ["truncate", "redirect"],
        ["truncate", "ignore range"],
        ["truncate", "416"],
        ["truncate", "wrong range"],
        ["truncate", "corrupt"],
        ["truncate", "too much"],
        ["stall", "500"],
    ],
)
def test_faults_that_pass(faults: list[str], server: Server, tmp_path: Path) -> None:
    server.faults = list(faults)
    assert fetch(file(server.url()), tmp_path).read_bytes() == CONTENT
    assert there(tmp_path) == ["file"]
    # The whole file in the place of a part is a fault that needs no further request.
    assert len(server.requests) == len(faults) + 1 - ("ignore range" in faults)


@pytest.mark.parametrize(
    ("fault", "why", "requests", "left"),
    [
        ("404", "it answered 404", 1, []),
        ("403", "it answered 403", 1, []),
        ("500", "it answered 500", 3, []),
        ("corrupt", "what it sent is not the official file, and was deleted", 1, []),
        ("too much", f"it sent more than the {len(CONTENT)} bytes", 1, []),
        ("endless", f"it sent more than the {len(CONTENT)} bytes", 1, []),
        ("truncate", r"it stopped after \d+ of", 3, [".partial-file"]),
        ("stall", "timed out", 3, [".partial-file"]),
    ],
)
def test_faults_that_stay(fault: str, why: str, requests: int, left: list[str], server: Server, tmp_path: Path) -> None:
    server.faults = [fault] * 9
    with pytest.raises(
        BayesganError, match=rf"^file could not be downloaded \({server.url()}: {why}.*\): run the same"
    ):
        fetch(file(server.url()), tmp_path)
    assert len(server.requests) == requests
    assert there(tmp_path) == left


def test_an_endless_answer_is_cut_off(server: Server, tmp_path: Path) -> None:
    server.faults = ["endless"]
    reports: list[int] = []
    with pytest.raises(BayesganError, match="more than"):
        fetch(file(server.url()), tmp_path, report=reports.append)
    assert max(reports) == len(CONTENT)


def test_the_second_place_is_tried(server: Server, tmp_path: Path) -> None:
    for fault in ("404", "500", "corrupt", "truncate"):
        folder = tmp_path / fault
        server.faults, server.requests = [fault], []
        fetch(file(server.url("first"), server.url("second")), folder)
        assert [path for path, _ in server.requests] == ["/first", "/second"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/file", "http://[/", "nonsense", "http://127.0.0.1:x/"])
def test_nobody_there(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(BayesganError, match=r"could not be downloaded \(.+: .+\)"):
        fetch(file(url), tmp_path, tries=2)


def test_no_answer_that_is_http(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.RequestHandlerClass, "do_GET", lambda self: self.wfile.write(b"hello\r\n"))
    with pytest.raises(BayesganError, match="could not be downloaded"):
        fetch(file(server.url()), tmp_path)


def test_stopped_by_hand(server: Server, tmp_path: Path) -> None:
    def stop(done: int) -> None:
        if done > len(CONTENT) // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(file(server.url()), tmp_path, report=stop)
    assert there(tmp_path) == [".partial-file"]
    size = (tmp_path / ".partial-file").stat().st_size
    assert 0 < size < len(CONTENT)
    assert fetch(file(server.url()), tmp_path).read_bytes() == CONTENT
    assert server.requests[-1][1] == f"bytes={size}-"


@pytest.mark.parametrize("left", [b"wrong" + CONTENT[5:1000], b"wrong" + CONTENT[5:], CONTENT + b"more", b""])
def test_useless_remains_are_replaced(left: bytes, server: Server, tmp_path: Path) -> None:
    (tmp_path / ".partial-file").write_bytes(left)
    assert fetch(file(server.url()), tmp_path).read_bytes() == CONTENT
    assert there(tmp_path) == ["file"]


def test_remains_that_are_whole_need_no_request(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".partial-file").write_bytes(CONTENT)
    assert fetch(file(server.url()), tmp_path).read_bytes() == CONTENT
    assert server.requests == []


def test_another_file_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BayesganError, match="is not the official file: move it away"):
        fetch(file(server.url()), tmp_path)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    with pytest.raises(BayesganError, match=r"^Cannot write .*file: .+\.$"):
        fetch(file(server.url()), tmp_path / "folder")
    (tmp_path / ".partial-file").mkdir()
    with pytest.raises(BayesganError, match=r"^Cannot write "):
        fetch(file(server.url()), tmp_path)
