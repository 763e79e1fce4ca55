"""Compare generated points with the data: Jensen-Shannon divergence, and coverage of the clusters."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import rel_entr

CELLS_PER_BANDWIDTH = 4
MARGIN = 5  # bandwidths around the reference points; the kernel is cut there too


class JensenShannon:
    r"""JSD in nats between points and reference points, by kernel density estimates in two dimensions.

    The plane is spanned by the first two principal components of ``train``, each scaled to variance one there. The
    kernel is Gaussian with Scott's bandwidth :math:`n^{-1/6}` in that plane, the same for both densities; the grid
    covers ``reference``. Both depend on the data alone. Generated points that fall outside the grid are not lost:
    they count as one more cell, in which the data have next to no mass.
    """

    def __init__(self, train: np.ndarray, reference: np.ndarray) -> None:
        self.mean = train.mean(0)
        _, singular, components = np.linalg.svd(train - self.mean, full_matrices=False)
        self.axes = components[:2].T * (np.sqrt(len(train)) / singular[:2])
        self.bandwidth = len(reference) ** (-1 / 6)
        projected = self.project(reference)
        margin = MARGIN * self.bandwidth
        self.low, high = projected.min(0) - margin, projected.max(0) + margin
        self.cells = np.ceil((high - self.low) * (CELLS_PER_BANDWIDTH / self.bandwidth)).astype(int)
        self.high = self.low + self.cells * (self.bandwidth / CELLS_PER_BANDWIDTH)
        self.reference = self.masses(reference)

    def project(self, points: np.ndarray) -> np.ndarray:
        """The first two principal components of ``points``, (n, 2), in units of the training data's deviation."""
        return (points - self.mean) @ self.axes

    def masses(self, points: np.ndarray) -> np.ndarray:
        """The estimated mass of every grid cell, then that of everything outside the grid."""
        first, second = self.project(points).T
        limits = list(zip(self.low, self.high, strict=True))
        counts, _, _ = np.histogram2d(first, second, bins=self.cells, range=limits)
        smooth = gaussian_filter(counts / len(points), CELLS_PER_BANDWIDTH, mode="constant", truncate=MARGIN)
        return np.append(smooth.ravel(), max(0.0, 1.0 - smooth.sum()))

    def __call__(self, points: np.ndarray) -> float:
        """½ KL(p ‖ m) + ½ KL(q ‖ m) with m = ½(p + q); 0 for equal densities, log 2 for disjoint ones."""
        masses = self.masses(points)
        middle = (self.reference + masses) / 2
        return float(rel_entr(self.reference, middle).sum() + rel_entr(masses, middle).sum()) / 2


def coverage(points: np.ndarray, centres: np.ndarray) -> list[float]:
    """The share of ``points`` that is nearest to each of ``centres``; empty where there are no centres."""
    if len(centres) == 0:
        return []
    # |x − c|² = |x|² − 2 x·c + |c|², and |x|² does not change which centre is nearest.
    distances = (centres**2).sum(1) - 2.0 * points @ centres.T
    return (np.bincount(distances.argmin(1), minlength=len(centres)) / len(points)).tolist()
