"""The official files of each image set: addresses, sizes and checksums, and how to get them."""

import os
import shutil
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

from bayesgan.base.errors import BayesganError
from bayesgan.data import celeba, cifar10
from bayesgan.data.download import RemoteFile, fetch, md5

# The place where MNIST was first published refuses downloads now; these two copies are what others fall back to.
MNIST_PLACES = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
MNIST = tuple(
    RemoteFile(name, tuple(place + name for place in MNIST_PLACES), size, checksum)
    for name, size, checksum in (
        ("train-images-idx3-ubyte.gz", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
    )
)
CIFAR10 = RemoteFile(
    "cifar-10-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    170_052_171,
    "c32a1d4ab5d03f1284b67883e8d87530",
)
SVHN = tuple(
    RemoteFile(name, (f"http://ufldl.stanford.edu/housenumbers/{name}",), size, checksum)
    for name, size, checksum in (
        ("train_32x32.mat", 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
        ("test_32x32.mat", 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
    )
)
CIFAR10_BINARY = {  # md5 of each file in the archive
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
    "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
}
CIFAR10_PYTHON = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
CELEBA = {
    celeba.ATTRIBUTES: "75e246fa4810816ffd6ee81facbd244c",
    celeba.PARTITION: "d32c9cbf5e040fd4025c592c306e6668",
}
CELEBA_PAGE = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html"
MOST_MEMBERS = 100  # of an archive; the official one has nine

Report = Callable[[RemoteFile, int], None]  # called with a file and how many bytes of it are there


def get(name: str, folder: Path, report: Report = lambda file, done: None) -> None:
    """Put the official files of the image set ``name`` into the folder of that name under the data root ``folder``."""
    place = folder / name
    if name == "celeba":
        raise BayesganError(
            f"CelebA is published where programs cannot reliably fetch it: get {celeba.PICTURES}.zip,"
            f" {celeba.ATTRIBUTES} and {celeba.PARTITION} from {CELEBA_PAGE}, and put the two lists and the unpacked"
            f" folder {celeba.PICTURES} into {place}."
        )
    if name == "cifar10":
        _get_cifar10(place, report)
    for file in {"mnist": MNIST, "svhn": SVHN}.get(name, ()):
        fetch(file, place, lambda done, file=file: report(file, done))  # type: ignore[misc]


def _get_cifar10(place: Path, report: Report) -> None:
    target = place / cifar10.BINARY
    if target.exists():
        for name, checksum in CIFAR10_BINARY.items():
            if not (target / name).is_file() or md5(target / name) != checksum:
                raise BayesganError(
                    f"{target / name} is not the official file: move the folder {target} away, then run the same"
                    " command again."
                )
        return
    archive = fetch(CIFAR10, place, lambda done: report(CIFAR10, done))
    unpack(archive, target, CIFAR10_BINARY, cifar10.BATCH * (1 + cifar10.PIXELS))
    archive.unlink()


def unpack(archive: Path, target: Path, checksums: dict[str, str], size: int) -> None:
    """Unpack from a .tar.gz the files that ``checksums`` names, each of ``size`` bytes, into the new folder ``target``.

    In the archive they are in a folder of the same name as ``target``; whatever else is there stays there.
    """
    temporary = target.with_name(f".partial-{target.name}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        _extract(archive, temporary, {f"{target.name}/{name}" for name in checksums}, size)
        for name, checksum in checksums.items():
            if not (temporary / name).is_file() or md5(temporary / name) != checksum:
                raise BayesganError(
                    f"{archive} does not hold the official {name}: delete it, then run the same command again."
                )
        temporary.replace(target)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise BayesganError(f"{archive} is damaged ({error}): delete it, then run the same command again.") from None
    except OSError as error:
        raise BayesganError(f"Cannot unpack {archive}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(archive: Path, folder: Path, wanted: set[str], size: int) -> None:
    """Write the wanted regular files of the right size under their last names; nothing else is ever created."""
    with tarfile.open(archive, "r|gz") as members:
        for number, member in enumerate(members):
            if number == MOST_MEMBERS:
                break
            content = members.extractfile(member) if member.name in wanted and member.isreg() else None
            if content is None or member.size != size:
                continue
            with content, (folder / Path(member.name).name).open("wb") as output:
                shutil.copyfileobj(content, output)
                output.flush()
                os.fsync(output.fileno())
