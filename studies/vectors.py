"""The scikit-learn estimator on vectors with five labels a class, beside logistic regression on the same labels.

python -m studies.vectors        (two minutes, one thread; writes results/vectors.md)
python -m studies.vectors --smallest        to see that it runs: two splits of iris, a few iterations, nothing kept

Mean test accuracy over splits 5 to 9; the estimator's settings were chosen on splits 0 to 2 of the same sets.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from bayesgan import BayesGANClassifier
from bayesgan.base.files import write_text

RESULTS = Path(__file__).parents[1] / "results" / "vectors.md"
SETS = {
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "two moons (600 points, noise 0.1)": make_moons(600, noise=0.1, random_state=0),
}
SPLITS, EACH = range(5, 10), 5


def accuracies(x: np.ndarray, classes: np.ndarray, split: int, iterations: int | None = None) -> tuple[float, float]:
    """Of the estimator and of logistic regression, on 30 % of the points."""
    train, test, truth, wanted = train_test_split(x, classes, test_size=0.3, random_state=split, stratify=classes)
    y, rng = np.full(len(train), -1), np.random.RandomState(split)
    for each in np.unique(classes):
        y[rng.choice(np.flatnonzero(truth == each), EACH, replace=False)] = each
    scaler, shown = StandardScaler().fit(train), y != -1
    plain = LogisticRegression(max_iter=2000).fit(scaler.transform(train[shown]), y[shown])
    ours = BayesGANClassifier(iterations=iterations, random_state=split).fit(train, y)
    return ours.score(test, wanted), plain.score(scaler.transform(test), wanted)


def main(smallest: bool = False) -> dict[str, np.ndarray]:
    """Measure and write; the mean accuracies of each set, the estimator's first."""
    torch.set_num_threads(1)
    names, splits, iterations = (["iris"], SPLITS[:2], 5) if smallest else (list(SETS), SPLITS, None)
    measured: dict[str, np.ndarray] = {}
    lines = ["| | BayesGANClassifier | logistic regression |", "|---|---|---|"]
    for name in names:
        x, classes = SETS[name]
        found = np.array([accuracies(x, classes, split, iterations) for split in splits])
        means, errors = found.mean(0), found.std(0, ddof=1) / np.sqrt(len(found))
        measured[name] = means
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    head = "`python -m studies.vectors`: test accuracy with five labels a class, mean ± standard error of five splits."
    if not smallest:
        write_text(RESULTS, head + "\n\n" + "\n".join(lines) + "\n")
    return measured


if __name__ == "__main__":
    main("--smallest" in sys.argv[1:])
