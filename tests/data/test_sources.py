import hashlib
import io
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from bayesgan.base.errors import BayesganError
from bayesgan.data import cifar10, sources
from bayesgan.data.download import RemoteFile
from bayesgan.data.sources import CIFAR10_BINARY, MNIST, SVHN, get, unpack
from tests.helpers.server import Server, serving

SIZE = 1000
CONTENTS = {name: bytes([number]) * SIZE for number, name in enumerate(CIFAR10_BINARY)}
CHECKSUMS = {name: hashlib.md5(content).hexdigest() for name, content in CONTENTS.items()}
FOLDER = cifar10.BINARY


def member(
    name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(content)
    return info, content


def archive(path: Path, extra: list[tuple[tarfile.TarInfo, bytes]], leave_out: str = "") -> Path:
    wanted = [member(f"{FOLDER}/{name}", content) for name, content in CONTENTS.items() if name != leave_out]
    with tarfile.open(path, "w:gz") as output:
        for info, content in [member(FOLDER, kind=tarfile.DIRTYPE), *extra, *wanted]:
            output.addfile(info, io.BytesIO(content))
    return path


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_table() -> None:
    for file in (*MNIST, sources.CIFAR10, *SVHN):
        assert len(file.md5) == 32
        assert all(url.endswith(f"/{file.name}") for url in file.urls)


def test_unpack_takes_what_it_knows_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "place"
    strange = [
        member(f"{FOLDER}/readme.html", b"text"),
        member("../outside", b"text"),
        member(f"{FOLDER}/../../outside", b"text"),
        member("/outside", b"text"),
        member("data_batch_1.bin", b"text"),
        member(f"{FOLDER}/link", kind=tarfile.SYMTYPE, link="/etc"),
        member(f"{FOLDER}/link/inside", b"text"),
        member(f"{FOLDER}/device", kind=tarfile.CHRTYPE),
    ]
    place.mkdir()
    unpack(archive(tmp_path / "a.tar.gz", strange), place / FOLDER, CHECKSUMS, SIZE)
    assert tree(place) == sorted([FOLDER, *(f"{FOLDER}/{name}" for name in CONTENTS)])
    assert tree(tmp_path) == sorted(["a.tar.gz", "place", *(f"place/{name}" for name in tree(place))])
    for name, content in CONTENTS.items():
        assert (place / FOLDER / name).read_bytes() == content


@pytest.mark.parametrize(
    "instead",
    [
        [],
        [member(f"{FOLDER}/test_batch.bin", bytes(SIZE))],
        [member(f"{FOLDER}/test_batch.bin", bytes(SIZE - 1))],
        [member(f"{FOLDER}/test_batch.bin", bytes(5_000_000))],
        [member(f"{FOLDER}/test_batch.bin", kind=tarfile.SYMTYPE, link="data_batch_1.bin")],
        [member(f"{FOLDER}/test_batch.bin", kind=tarfile.LNKTYPE, link=f"{FOLDER}/data_batch_1.bin")],
        [member(f"{FOLDER}/{number}", b"") for number in range(200)],
    ],
)
def test_unpack_needs_all_files_and_the_right_ones(
    instead: list[tuple[tarfile.TarInfo, bytes]], tmp_path: Path
) -> None:
    path = archive(tmp_path / "a.tar.gz", instead, leave_out="test_batch.bin")
    with pytest.raises(BayesganError, match=r"does not hold the official .*\.bin: delete it"):
        unpack(path, tmp_path / FOLDER, CHECKSUMS, SIZE)
    assert tree(tmp_path) == ["a.tar.gz"]


def test_unpack_writes_nothing_of_another_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []

    def copy(content: IO[bytes], output: IO[bytes]) -> None:
        copied.append(output.write(content.read()))

    monkeypatch.setattr(shutil, "copyfileobj", copy)
    large = [member(f"{FOLDER}/test_batch.bin", bytes(5_000_000))]
    with pytest.raises(BayesganError, match="does not hold the official"):
        unpack(archive(tmp_path / "a.tar.gz", large, leave_out="test_batch.bin"), tmp_path / FOLDER, CHECKSUMS, SIZE)
    # tarfile writes archives with a function of its own
    assert copied == [SIZE] * 5


def test_unpack_damaged_archives(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", [])
    whole = path.read_bytes()
    for content in (b"", b"no archive", whole[: len(whole) // 2], whole[:50] + b"\xff" * 50 + whole[100:]):
        path.write_bytes(content)
        with pytest.raises(BayesganError, match=r"a\.tar\.gz (is damaged|does not hold)"):
            unpack(path, tmp_path / FOLDER, CHECKSUMS, SIZE)
        assert tree(tmp_path) == ["a.tar.gz"]
    with pytest.raises(BayesganError, match="Cannot unpack"):
        unpack(tmp_path / "other", tmp_path / FOLDER, CHECKSUMS, SIZE)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Has a small CIFAR-10."""
    content = archive(tmp_path / "archive", []).read_bytes()
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(sources, "CIFAR10_BINARY", CHECKSUMS)
    monkeypatch.setattr(cifar10, "BATCH", 1)
    monkeypatch.setattr(cifar10, "PIXELS", SIZE - 1)
    with serving(content) as running:
        checksum = hashlib.md5(content).hexdigest()
        monkeypatch.setattr(sources, "CIFAR10", RemoteFile("a.tar.gz", (running.url(),), len(content), checksum))
        yield running


def test_get_cifar10(server: Server, tmp_path: Path) -> None:
    reports: list[tuple[str, int]] = []
    for _ in range(2):
        get("cifar10", tmp_path / "data", lambda file, done: reports.append((file.name, done)))
    assert tree(tmp_path / "data") == sorted(
        ["cifar10", *(f"cifar10/{name}" for name in [FOLDER, *(f"{FOLDER}/{name}" for name in CONTENTS)])]
    )
    assert reports[-1] == ("a.tar.gz", len(server.content))
    assert len(server.requests) == 1
    (tmp_path / "data" / "cifar10" / FOLDER / "test_batch.bin").write_text("mine")
    with pytest.raises(BayesganError, match=r"test_batch\.bin is not the official file: move the folder"):
        get("cifar10", tmp_path / "data")


def test_get_files(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checksum = hashlib.md5(server.content).hexdigest()
    files = tuple(RemoteFile(name, (server.url(),), len(server.content), checksum) for name in ("a", "b"))
    monkeypatch.setattr(sources, "MNIST", files)
    reports: set[str] = set()
    get("mnist", tmp_path / "data", lambda file, done: reports.add(file.name))
    assert tree(tmp_path / "data") == ["mnist", "mnist/a", "mnist/b"]
    assert reports == {"a", "b"}


def test_celeba_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BayesganError, match=r"https://mmlab.*CelebA\.html, and put .* into .*celeba\."):
        get("celeba", tmp_path)
    assert tree(tmp_path) == []
