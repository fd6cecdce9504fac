"""The taps of an accumulator: one row a product, with what saturation took away."""

from collections.abc import Sequence

from qlab.notation import integer, show, signed
from qlab.trace import Taps
from qlab.views.markup import text

SHOWN = 48  # rows; of a longer sum the first ones, the saturating ones and the last


def taps_html(taps: Taps, names: tuple[str, str] = ("a", "b"), view: str = "decimal") -> str:
    """A table of the products in the order in which they are added.

    Rows that saturate are marked with a word and what was lost.
    """
    count = len(taps.products)
    rows, previous = [], -1
    for k in shown_rows(taps):
        if k != previous + 1:
            rows.append(_gap(k - previous - 1))
        rows.append(_row(taps, k, view))
        previous = k
    if previous != count - 1:
        rows.append(_gap(count - 1 - previous))
    a, b = (text(name) for name in names)
    centered = bool((taps.a_zero_point != 0).any() or (taps.b_zero_point != 0).any())
    heads = "".join(
        f'<th scope="col" class="num">{head}</th>'
        for head in (
            *(f"{text(axis)}" for axis in taps.axes),
            a,
            b,
            *((f"{a} − zero point", f"{b} − zero point") if centered else ()),
            "product",
            "running sum",
        )
    )
    return (
        '<div class="q-scroll" tabindex="0" role="region" aria-label="Products of the accumulator">'
        f'<table class="q-taps"><thead><tr>{heads}<th scope="col">saturation</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def shown_rows(taps: Taps) -> tuple[int, ...]:
    """Which products are shown: all of a short sum; else the ends and every pair that saturates."""
    count = len(taps.products)
    if count <= SHOWN:
        return tuple(range(count))
    losing = [k for k in range(count) if taps.lost[k] != 0][: SHOWN // 3]
    pairs = {j for k in losing for j in (k - 1, k) if j >= 0}
    return tuple(sorted({*range(SHOWN // 3), *pairs, *range(count - SHOWN // 4, count)}))


def summary(taps: Taps) -> str:
    """``3 products, 1 saturates and loses −82``."""
    count = len(taps.products)
    words = "1 product" if count == 1 else f"{count:,} products"
    losing = int((taps.lost != 0).sum())
    if not losing:
        return f"{words}, none saturates"
    lost = integer(int(taps.lost.sum()))
    return f"{words}, {losing:,} {'pair saturates and loses' if losing == 1 else 'pairs saturate and lose'} {lost}"


def _row(taps: Taps, k: int, view: str) -> str:
    centered = bool((taps.a_zero_point != 0).any() or (taps.b_zero_point != 0).any())
    values: Sequence[object] = (
        *taps.positions[k],
        taps.a[k],
        taps.b[k],
        *((taps.a[k] - taps.a_zero_point[k], taps.b[k] - taps.b_zero_point[k]) if centered else ()),
        taps.products[k],
        taps.running[k],
    )
    lost = taps.lost[k]
    word = f"≠ saturated, lost {signed(f'{lost:,}')}" if lost != 0 else ""
    cells = "".join(f'<td class="num">{text(show(value, view))}</td>' for value in values)
    return f"<tr{' class=parts' if word else ''}>{cells}<td>{text(word)}</td></tr>"


def _gap(count: int) -> str:
    return f'<tr class="gap"><td colspan="12">… {count:,} more …</td></tr>'
