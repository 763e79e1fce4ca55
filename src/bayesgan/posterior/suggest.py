"""Choose the points that are most worth a label: the sampled networks disagree about them, and they differ."""

import numpy as np
from sklearn.cluster import KMeans

from bayesgan.base.errors import BayesganError
from bayesgan.posterior.posterior import Posterior

# The points most in doubt, which are then spread out: so many times the budget, and at least this share of all.
# Of many points the very first may be nearly all of one class (seen on MNIST: results/suggestions).
CANDIDATES, SHARE = 10, 0.1


def suggested(posterior: Posterior, x: np.ndarray, budget: int, seed: int = 0) -> np.ndarray:
    """Indices (budget,) into the unlabelled points ``x``, those that are most in doubt first.

    A label is worth most where it decides between the sampled networks: the mutual information of the class and the
    weights is what it is expected to tell about them (Houlsby et al. 2011, https://arxiv.org/abs/1112.5745). The very
    first of that order are often alike, so as many clusters as the budget are made of the features of the candidates,
    weighted by their information, and each gives the one nearest to its centre (Zhdanov 2019,
    https://arxiv.org/abs/1901.05954). One network alone has no such information: its entropy takes that place
    (:attr:`bayesgan.Posterior.doubt`).
    """
    if budget < 1:
        raise BayesganError(f"A budget of {budget} labels is none: give at least 1.")
    if len(x) <= budget:
        budget = len(x)
    doubt = getattr(posterior.uncertainty(x), posterior.doubt)
    candidates = np.argsort(-doubt, kind="stable")[: max(CANDIDATES * budget, round(SHARE * len(x)))]
    if len(candidates) <= budget:
        return candidates
    return candidates[spread(posterior.features(x[candidates]), doubt[candidates], budget, seed)]


def spread(features: np.ndarray, weights: np.ndarray, number: int, seed: int = 0) -> np.ndarray:
    """Indices of ``number`` of the points that stand for all of them, in order: one for each cluster of ``features``.

    ``weights`` say how much each point pulls its cluster's centre.
    """
    weights = weights / max(weights.max(), 1e-12) + 1e-6
    clusters = min(number, len(np.unique(features, axis=0)))
    means = KMeans(clusters, n_init=4, random_state=seed).fit(features, sample_weight=weights)
    distances = means.transform(features)
    chosen: list[int] = []
    for turn in range(number):  # of points that are all alike, several from one cluster
        order = np.argsort(distances[:, turn % clusters], kind="stable")
        chosen.append(next(int(point) for point in order if point not in chosen))
    return np.sort(np.array(chosen))
