"""Delta debugging: the fewest of a list with which something still holds."""

from collections.abc import Callable, Sequence


def minimal(items: Sequence[int], holds: Callable[[Sequence[int]], bool]) -> Sequence[int]:
    """A part of ``items``, in their order, of which no single one can be left out any more.

    Halves alone are tried first, then without each half; then quarters, and so on. ``holds`` is true of all of them.
    Blocks begin at multiples of their size, a power of two, so that neighbours that are added as a pair stay one.
    """
    size = 1 << max(len(items) - 1, 0).bit_length() >> 1
    while size and len(items) > 1:
        blocks = [items[k : k + size] for k in range(0, len(items), size)]
        alone = next((b for b in blocks if len(b) < len(items) and holds(b)), None)
        if alone is not None:
            items = alone
            size = min(size, 1 << max(len(items) - 1, 0).bit_length() >> 1)
            continue
        start = 0
        while start < len(items) and len(blocks) > 2:
            rest = [*items[:start], *items[start + size :]]
            if rest and holds(rest):
                items = rest
            else:
                start += size
        size //= 2
    return items
