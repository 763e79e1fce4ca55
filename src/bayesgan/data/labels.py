"""Choose the training images that show their label: N_s of them, in equal parts by class."""

import hashlib
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from bayesgan.base.errors import BayesganError
from bayesgan.data.images import Images


@dataclass(frozen=True)
class LabelledSet:
    """The training images whose labels are used."""

    indices: np.ndarray  # (N_s,) int64, sorted
    sha256: str  # of the text "name/N_s/subset/", the indices and their labels, both as little-endian int64


@dataclass(frozen=True)
class LabelledImages:
    """Images of which some show their class."""

    images: Images
    labelled: LabelledSet
    files: tuple[str, ...] = ()  # names of the training images, where they are files
    skipped: tuple[str, ...] = ()  # a note on every file that is not used

    @property
    def unlabelled(self) -> np.ndarray:
        """Indices of the training images that do not show their class."""
        return np.setdiff1d(np.arange(len(self.images.train)), self.labelled.indices)


def labelled_set(name: str, labels: np.ndarray, count: int, subset: int) -> LabelledSet:
    """Make the ``subset``-th choice of ``count`` of the training images of the data set ``name``.

    It depends on nothing but the arguments. Each class gives the same number; a class that is too small gives all that
    it has and the others share the rest; what cannot be shared goes to classes in a drawn order.
    """
    if not 0 <= count <= len(labels):
        raise BayesganError(f"{count} labelled images cannot be had: {name} has {len(labels)} to choose from.")
    if subset < 0:
        raise BayesganError(f"{subset} is not the number of a labelled subset: give 0 or more.")
    text = f"{name}/{count}/{subset}"
    bits = np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))
    classes, members = np.unique(labels, return_inverse=True)
    # Sorted by raw bits, which numpy never changes, unlike the permutations that it makes of them.
    class_order = np.argsort(bits.random_raw(len(classes)), kind="stable")
    order = np.argsort(bits.random_raw(len(labels)), kind="stable")
    quotas = _quotas(np.bincount(members, minlength=len(classes)), count, class_order)
    chosen = [order[members[order] == each][:quota] for each, quota in enumerate(quotas)]
    indices = np.sort(np.concatenate([np.empty(0, np.int64), *chosen])).astype(np.int64)
    return LabelledSet(indices, hashed(text, indices, labels))


def hashed(text: str, indices: np.ndarray, labels: np.ndarray) -> str:
    """The sha256 of a labelled set that ``text`` names: ``indices`` of images, of which all have ``labels``."""
    digest = hashlib.sha256(f"{text}/".encode())
    digest.update(indices.astype("<i8").tobytes())
    digest.update(labels[indices].astype("<i8").tobytes())
    return digest.hexdigest()


def _quotas(sizes: np.ndarray, count: int, order: np.ndarray) -> np.ndarray:
    """The share of each class: min(size, level) for the highest level that fits, and one more from the first."""
    level = bisect_right(range(count + 1), count, key=lambda height: int(np.minimum(sizes, height).sum())) - 1
    quotas = np.minimum(sizes, level)
    larger = order[sizes[order] > level]
    quotas[larger[: count - quotas.sum()]] += 1
    return quotas
