"""Make the embedded example: real out-of-sample predictions of a real, over-confident classifier.

Data: the 1797 handwritten digits that ship inside scikit-learn. The rows are dealt into ten parts; ten small neural networks
are each trained to zero loss on one part, with one label in eight made wrong as in hurried annotation, and predict the next
part. So every row is predicted once, by a network that has not seen it, and the networks are far too sure of themselves.

Run: python tools/make_example.py    (writes src/calibrant/data/digits.npz)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

PARTS = 10
WRONG = 1 / 8
SEED = 20261115
OUT = Path(__file__).parent.parent / "src" / "calibrant" / "data" / "digits.npz"


def main() -> None:
    rng = np.random.default_rng(SEED)
    pixels, digits = load_digits(return_X_y=True)
    part = rng.permutation(len(digits)) % PARTS
    logits = np.empty((len(digits), 10))
    for k in range(PARTS):
        seen, unseen = part == k, part == (k + 1) % PARTS
        taught = np.where(rng.random(seen.sum()) < WRONG, rng.integers(0, 10, seen.sum()), digits[seen])
        scale = StandardScaler().fit(pixels[seen])
        net = MLPClassifier((64,), alpha=0.0, max_iter=3000, tol=1e-6, random_state=k)
        net.fit(scale.transform(pixels[seen]), taught)
        logits[unseen] = np.log(np.maximum(net.predict_proba(scale.transform(pixels[unseen])), 1e-30))
    valid = rng.permutation(len(digits)) < len(digits) // 2
    np.savez_compressed(OUT, labels=digits.astype(np.uint8), logits=logits.astype(np.float32), valid=valid)
    right = (logits.argmax(axis=1) == digits).mean()
    sure = np.exp(logits).max(axis=1).mean()
    print(f"{OUT.name}: {len(digits)} rows, accuracy {right:.4f}, confidence {sure:.4f}, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
