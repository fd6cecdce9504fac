"""How long a matrix takes with warm workers: python tests/bench_matrix.py [CASE]. Installs what is missing."""

import statistics
import sys
import time

from qlab.gallery import gallery_case
from qlab.matrix import Matrix, columns
from qlab.runtimes import store

VERSIONS = (
    *("1.15.1", "1.16.3", "1.17.3", "1.18.1", "1.19.2", "1.20.1", "1.22.1", "1.24.4"),
    *("1.25.1", "1.26.0", "1.27.0", "1.29.0", "1.31.1", "1.32.0"),
)


def filled(name: str) -> float:
    """Seconds for all cells."""
    started = time.perf_counter()
    cells = list(Matrix(gallery_case(name)).fill(VERSIONS, columns()))
    seconds = time.perf_counter() - started
    assert len(cells) == 4 * len(VERSIONS)
    assert all(c.run is not None for c in cells)
    return seconds


def main() -> None:
    """Print the first filling, which starts the workers, and the median of five warm ones."""
    name = sys.argv[1] if len(sys.argv) > 1 else "qdq-conv-bias-scale"
    for version in VERSIONS:
        store.add(version, progress=lambda words: print(words, file=sys.stderr))
    first = filled(name)
    warm = statistics.median(filled(name) for _ in range(5))
    print(
        f"{name}: {len(VERSIONS)} versions × 4 levels: {first:.2f} s, with warm workers {warm:.2f} s"
    )


if __name__ == "__main__":
    main()
