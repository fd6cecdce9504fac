"""All 65,536 pairs of codes of QLinearAdd: ONNX Runtime, exact, ort_cpu and four further schemes, each compared."""

from qlab.benchmarks import Benchmark, Line, timed
from qlab.engines.ort import run_ort
from qlab.gallery import gallery_case
from qlab.probes import all_codes
from qlab.reference import reference_of
from qlab.schemes import schemes
from qlab.schemes.ort_cpu import OrtCpu
from qlab.trace import trace

FURTHER = ("float64", "float32", "tflite", "xnnpack")
LIMIT = 100.0  # milliseconds


def _run(quick: bool) -> list[Line]:
    case = all_codes(gallery_case("qlinearadd-off-by-one"))
    assert case is not None

    def whole() -> list[int]:
        run = run_ort(case)
        exact = trace(case.graph, case.inputs, schemes()["exact"])
        reference = reference_of(case, exact)
        compared = [*reference.compare("onnxruntime", run.outputs)]
        for scheme in (OrtCpu(run.cpu), *(schemes()[name] for name in FURTHER)):
            outputs = trace(case.graph, case.inputs, scheme).outputs
            compared += reference.compare(scheme.name, outputs)
        return [c.mismatches for c in compared]

    found = timed(whole, repeats=3 if quick else 15)
    words = f"QLinearAdd, all 65,536 pairs: ONNX Runtime, exact, ort_cpu, {', '.join(FURTHER)}, compared"
    met = None if quick else 1e3 * found.median < LIMIT
    return [found.line(words, goal=f"less than {LIMIT:g} ms together", met=met)]


BENCHMARK = Benchmark("pairs", "all pairs of codes through seven arithmetics", _run)
