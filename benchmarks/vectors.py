"""The scikit-learn estimator on vectors with five labels a class, beside logistic regression on the same labels.

python -m benchmarks.vectors        (two minutes, one thread; writes results/vectors.md)

Mean test accuracy over splits 5 to 9; the estimator's settings were chosen on splits 0 to 2 of the same sets.
"""

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


def accuracies(x: np.ndarray, classes: np.ndarray, split: int) -> tuple[float, float]:
    """Of the estimator and of logistic regression, on 30 % of the points."""
    train, test, truth, wanted = train_test_split(x, classes, test_size=0.3, random_state=split, stratify=classes)
    y, rng = np.full(len(train), -1), np.random.RandomState(split)
    for each in np.unique(classes):
        y[rng.choice(np.flatnonzero(truth == each), EACH, replace=False)] = each
    scaler, shown = StandardScaler().fit(train), y != -1
    plain = LogisticRegression(max_iter=2000).fit(scaler.transform(train[shown]), y[shown])
    ours = BayesGANClassifier(random_state=split).fit(train, y)
    return ours.score(test, wanted), plain.score(scaler.transform(test), wanted)


def main() -> None:
    """Measure and write."""
    torch.set_num_threads(1)
    lines = ["| | BayesGANClassifier | logistic regression |", "|---|---|---|"]
    for name, (x, classes) in SETS.items():
        found = np.array([accuracies(x, classes, split) for split in SPLITS])
        means, errors = found.mean(0), found.std(0, ddof=1) / np.sqrt(len(found))
        cells = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    head = (
        "`python -m benchmarks.vectors`: test accuracy with five labels a class, mean ± standard error of five splits."
    )
    write_text(RESULTS, head + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
