"""The counts of `qlab.fidelity` as lines of text, and as the table in the documentation."""

from collections.abc import Iterable, Sequence

from qlab.fidelity import Row

WIDTH = 44
HEADING = f"{'operator':{WIDTH}} {'outputs':>12} {'mispredicted':>12}  seeds    CPU, onnxruntime"


def line(row: Row) -> str:
    """One row on the terminal; a second line says what is first wrong."""
    text = (
        f"{row.name:{WIDTH}} {row.compared:12,} {row.mispredicted:12,}  {seeds(row):8} "
        f"{row.cpu}, {row.version}"
    )
    if row.unmodelled:
        text += f"; {row.unmodelled:,} without a prediction"
    return text + (f"\n    {row.first}" if row.first else "")


def seeds(row: Row) -> str:
    """``0 – 25``, or ``0``."""
    last = row.seed + row.seeds - 1
    return f"{row.seed}" if last <= row.seed else f"{row.seed} – {last}"


def summary(rows: Sequence[Row]) -> str:
    """``0 of 20,400,000 outputs mispredicted, in 51 rows.``"""
    compared, wrong, without = (
        sum(getattr(row, name) for row in rows)
        for name in ("compared", "mispredicted", "unmodelled")
    )
    text = f"{wrong:,} of {compared:,} outputs mispredicted, in {len(rows)} rows"
    return text + (f"; {without:,} had no prediction." if without else ".")


def table(rows: Iterable[Row]) -> str:
    """All counts as Markdown: a line for each battery, a column for each release and class of CPU."""
    found = list(rows)
    columns = sorted({(row.version, row.cpu, row.machine) for row in found}, reverse=True)
    lines = ["| operator | data types | form | becomes |"]
    lines[0] += "".join(f" {cpu}, {version} |" for version, cpu, _ in columns)
    lines.append("|---|---|---|---|" + "---:|" * len(columns))
    by_name: dict[str, dict[tuple[str, str, str], Row]] = {}
    for row in found:
        by_name.setdefault(row.name, {})[row.version, row.cpu, row.machine] = row
    for cells in by_name.values():
        row = next(iter(cells.values()))
        became = ", ".join(o for o in row.operators if o.startswith(("com.microsoft", "QLinear")))
        counts = "".join(f" {_cell(cells[c]) if c in cells else ''} |" for c in columns)
        shown = became if row.form == "QDQ" else ""
        lines.append(f"| {row.operator} | {row.dtypes} | {row.form} | {shown} |{counts}")
    notes = [f"- {row.name}, {row.cpu}, {row.version}: {row.first}" for row in found if row.first]
    machines = [f"- {cpu}, {version}: {machine}" for version, cpu, machine in columns]
    parts = [_INTRODUCTION, "\n".join(lines), "Run on:", "\n".join(machines)]
    if notes:
        parts += ["What is not 0:", "\n".join(notes)]
    return "\n\n".join(parts) + "\n"


def _cell(row: Row) -> str:
    text = f"{row.mispredicted:,} of {row.compared:,}"
    return text + (f" ({row.unmodelled:,} not predicted)" if row.unmodelled else "")


_INTRODUCTION = """# Fidelity: does `ort_cpu` predict ONNX Runtime?

Made by `python -m qlab fidelity --save` on each of the machines below and written by
`python -m qlab fidelity --table`; `python -m qlab fidelity` counts anew on yours. Each cell: outputs mispredicted of
outputs compared, bit for bit. Cases are directed first (ties and one unit beside them, both ends of the range, sums
beyond 2²⁴, saturating pairs), then random, from seed 0 on; a QDQ group is run at ORT_DISABLE_ALL and at
ORT_ENABLE_ALL, and "becomes" says which operators ONNX Runtime put in its place there."""
