"""ONNX Runtime as an engine: how a run can end, the types it cannot pass, and what comes back."""

import os
import signal
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

from qlab.case import Case
from qlab.engines import ort, pool
from qlab.engines.ort import emulated_cpus, ort_version, run_ort
from qlab.engines.pool import Worker
from qlab.engines.results import RunStatus, SessionConfig
from qlab.errors import CaseError, QlabError
from qlab.graph import Graph, Node

LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL")
QLINEARMATMUL = ("a", "scale", "a_zp", "b", "scale", "b_zp", "scale", "y_zp")


def f32(value):
    return np.array(value, np.float32)


def case(*nodes, inputs, constants=None, outputs=("y",), opset=21, microsoft=False):
    domains = {"": opset, "com.microsoft": 1} if microsoft else {"": opset}
    return Case(Graph(nodes, constants or {}, tuple(inputs), outputs, domains), inputs)


def relu():
    return case(Node("Relu", ("x",), ("y",)), inputs={"x": f32([-1, 2])}, opset=13)


def qlinearmatmul(a, b):
    constants = {
        "scale": f32(1),
        "a_zp": np.zeros((), a.dtype),
        "b_zp": np.zeros((), b.dtype),
        "y_zp": np.zeros((), a.dtype),
    }
    node = Node("QLinearMatMul", QLINEARMATMUL, ("y",))
    return case(node, inputs={"a": a, "b": b}, constants=constants, opset=13)


def slow():
    """Some seconds of work: 60 products of 1024 × 1024."""
    nodes = [Node("MatMul", (f"t{i}", "x"), (f"t{i + 1}",)) for i in range(60)]
    nodes = [Node("Identity", ("x",), ("t0",)), *nodes]
    return case(*nodes, inputs={"x": np.full((1024, 1024), 0.5, np.float32)}, outputs=("t60",))


def qdq_conv():
    """A uint8 × int8 Conv between QuantizeLinear and DequantizeLinear."""
    rng = np.random.default_rng(0)
    constants = {
        "x_scale": f32(0.02),
        "x_zp": np.array(128, np.uint8),
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "w_scale": f32([0.01, 0.02, 0.03, 0.04]),
        "w_zp": np.zeros(4, np.int8),
        "y_scale": f32(0.5),
        "y_zp": np.array(100, np.uint8),
    }
    nodes = (
        Node("QuantizeLinear", ("x", "x_scale", "x_zp"), ("xq",)),
        Node("DequantizeLinear", ("xq", "x_scale", "x_zp"), ("xd",)),
        Node("DequantizeLinear", ("w", "w_scale", "w_zp"), ("wd",), attributes={"axis": 0}),
        Node("Conv", ("xd", "wd"), ("c",)),
        Node("QuantizeLinear", ("c", "y_scale", "y_zp"), ("yq",)),
        Node("DequantizeLinear", ("yq", "y_scale", "y_zp"), ("y",)),
    )
    x = rng.uniform(-2, 2, (1, 3, 5, 5)).astype(np.float32)
    return case(*nodes, inputs={"x": x}, constants=constants, opset=13)


def operators(run):
    return [node.op_type for node in run.graph.nodes]


def test_ok():
    run = run_ort(relu())
    assert (run.engine, run.version, run.status) == ("onnxruntime", ort_version(), RunStatus.OK)
    assert run.outputs["y"].tolist() == [0, 2]
    assert run.outputs["y"].dtype == np.float32
    assert (run.message, run.notes, run.repeatable) == ("", (), True)
    assert run.cpu in ("avx2", "sse", "vnni", "arm64")
    assert run.seconds > 0
    assert operators(run) == ["Relu"]


def test_this_process_never_loads_onnxruntime():
    code = (
        "import sys, numpy as np\n"
        "from qlab.case import Case\nfrom qlab.graph import Graph, Node\n"
        "from qlab.engines import cpu, onnx_reference, ort, pool, worker\n"
        "graph = Graph((Node('Relu', ('x',), ('y',)),), {}, ('x',), ('y',), {'': 13})\n"
        "run = ort.run_ort(Case(graph, {'x': np.zeros(2, np.float32)}))\n"
        "print(run.status, 'onnxruntime' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        input="stdin",
    )
    assert (done.stdout.split(), done.stderr) == (["ok", "False"], "")


@pytest.mark.parametrize("level", LEVELS)
def test_rejected(level):
    run = run_ort(
        qlinearmatmul(np.ones((2, 2), np.int8), np.ones((2, 2), np.uint8)), SessionConfig(level)
    )
    assert run.status is RunStatus.REJECTED
    assert "NOT_IMPLEMENTED" in run.message
    assert "QLinearMatMul" in run.message
    assert "\n" not in run.message
    assert "qlab-" not in run.message
    assert (run.outputs, run.graph) == ({}, None)


def test_failed():
    node = Node("Reshape", ("x", "shape"), ("y",))
    run = run_ort(case(node, inputs={"x": f32([1, 2, 3]), "shape": np.array([2, 2])}))
    assert run.status is RunStatus.FAILED
    assert "Reshape" in run.message
    assert "\n" not in run.message


def test_out_of_memory_is_a_failure_with_the_engine_s_words():
    node = Node("Expand", ("x", "shape"), ("y",))
    run = run_ort(case(node, inputs={"x": np.zeros(1, np.int8), "shape": np.array([1 << 36])}))
    assert run.status is RunStatus.FAILED
    assert run.message
    assert run_ort(relu()).status is RunStatus.OK


def test_an_output_that_is_no_tensor():
    run = run_ort(case(Node("SequenceConstruct", ("x",), ("y",)), inputs={"x": f32([1])}))
    assert run.status is RunStatus.FAILED
    assert run.message == "y is seq(tensor(float)), which numpy cannot hold"


def in_thread(call):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    return thread, answers


@pytest.mark.skipif(os.name != "posix", reason="signals")
class TestEnds:
    """The worker ends, or does not answer."""

    def test_killed_in_the_middle_is_a_crash(self):
        run_ort(relu())
        pid = pool.worker().pid
        thread, runs = in_thread(lambda: run_ort(slow(), SessionConfig("ORT_DISABLE_ALL")))
        time.sleep(0.7)
        os.kill(pid, signal.SIGSEGV)
        thread.join()
        assert runs[0].status is RunStatus.CRASHED
        start = f"onnxruntime {ort_version()} ended by signal 11 (SIGSEGV) after "
        assert runs[0].message.startswith(start)
        assert runs[0].message.endswith(" s")
        assert run_ort(relu()).status is RunStatus.OK
        assert pool.worker().pid != pid

    def test_killed_between_requests_is_not_seen(self):
        run_ort(relu())
        os.kill(pool.worker().pid, signal.SIGKILL)
        assert run_ort(relu()).status is RunStatus.OK

    def test_killed_before_it_read_the_request_is_tried_again(self):
        run_ort(relu())
        pid = pool.worker().pid
        os.kill(pid, signal.SIGSTOP)
        thread, runs = in_thread(lambda: run_ort(relu()))
        time.sleep(0.2)
        os.kill(pid, signal.SIGKILL)
        thread.join()
        assert runs[0].status is RunStatus.OK
        assert pool.worker().pid != pid

    def test_a_hanging_worker_times_out(self):
        run_ort(relu())
        os.kill(pool.worker().pid, signal.SIGSTOP)
        run = run_ort(relu(), timeout=0.2)
        assert run.status is RunStatus.TIMED_OUT
        assert run.message == f"onnxruntime {ort_version()} gave no answer in 0.2 s and was ended"
        assert run_ort(relu()).status is RunStatus.OK

    def test_long_work_times_out(self):
        run = run_ort(slow(), timeout=0.5)
        assert run.status is RunStatus.TIMED_OUT
        assert run.seconds < 10
        assert run_ort(relu()).outputs["y"].tolist() == [0, 2]

    def test_its_last_words_are_in_the_message(self):
        process = Worker()
        answer = process.ask(b"", {}, SessionConfig(), timeout=20)
        assert answer.status is RunStatus.REJECTED
        # exit status, and a line on stderr: a program that is no worker
        broken = Worker(launcher=("sh", "-c", "echo some words >&2; exit 3"))
        answer = broken.ask(b"", {}, SessionConfig(), timeout=20)
        assert answer.status is RunStatus.CRASHED
        assert (
            answer.message == "the worker process ended with exit status 3 at its start: some words"
        )
        process.end()

    def test_a_program_that_is_not_there(self):
        answer = Worker(python="/nonexistent/python").ask(b"", {}, SessionConfig(), timeout=20)
        assert answer.status is RunStatus.REJECTED
        assert answer.message.startswith("the worker process cannot be started: ")


@pytest.mark.parametrize("level", LEVELS)
def test_memory_that_no_kernel_wrote_is_not_repeatable(level):
    empty = qlinearmatmul(np.zeros((2, 0), np.uint8), np.zeros((0, 3), np.uint8))
    for _ in range(3):
        run = run_ort(empty, SessionConfig(level))
        assert run.status is RunStatus.OK
        assert run.outputs["y"].shape == (2, 3)
        assert not run.repeatable
    full = qlinearmatmul(np.ones((2, 1), np.uint8), np.ones((1, 3), np.uint8))
    assert run_ort(full, SessionConfig(level)).repeatable


def test_nan_is_repeatable():
    node = Node("Div", ("x", "x"), ("y",))
    run = run_ort(case(node, inputs={"x": f32([0, np.inf, 1])}))
    assert np.isnan(run.outputs["y"]).tolist() == [True, True, False]
    assert run.repeatable


@pytest.mark.parametrize("shape", [(), (0, 3), (1,)])
def test_shapes_are_kept(shape):
    node = Node("Neg", ("x",), ("y",))
    run = run_ort(case(node, inputs={"x": np.ones(shape, np.float32)}))
    assert run.outputs["y"].shape == shape


class TestTypesThatPythonCannotPass:
    """int4, uint4, bfloat16, float8: as constants in, through a Cast out."""

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("name", ["int4", "uint4"])
    def test_constants(self, name, level):
        w = np.array([1, 7, 0]).astype(getattr(ml_dtypes, name))
        node = Node("DequantizeLinear", ("w", "s"), ("d",))
        add = Node("Add", ("d", "x"), ("y",))
        run = run_ort(
            case(node, add, inputs={"x": f32([0, 0, 1])}, constants={"w": w, "s": f32(2)}),
            SessionConfig(level),
        )
        assert run.outputs["y"].tolist() == [2, 14, 1]
        assert run.notes == ()

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("name", ["int4", "uint4", "float8_e4m3fn", "float8_e5m2"])
    def test_inputs(self, name, level):
        x = np.array([1, 4, 0]).astype(getattr(ml_dtypes, name))
        node = Node("DequantizeLinear", ("x", "s"), ("y",))
        run = run_ort(case(node, inputs={"x": x}, constants={"s": f32(2)}), SessionConfig(level))
        assert run.outputs["y"].tolist() == [2, 8, 0]
        assert run.notes == (
            f"x was sent as a constant: Python cannot feed {name} to ONNX Runtime",
        )

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize(
        ("name", "carrier", "expected"),
        [
            ("int4", "int8", [1, 5, -8]),
            ("uint4", "uint8", [1, 5, 0]),
            ("float8_e4m3fn", "float32", [1.5, 5, -24]),
        ],
    )
    def test_outputs(self, name, carrier, expected, level):
        dtype = np.dtype(getattr(ml_dtypes, name))
        node = Node("QuantizeLinear", ("x", "s", "z"), ("y",))
        zero_point = np.array(0 if carrier == "float32" else 1).astype(dtype)
        x = f32([3, 10, -48]) if carrier == "float32" else f32([1, 9, -50])
        run = run_ort(
            case(node, inputs={"x": x}, constants={"s": f32(2), "z": zero_point}),
            SessionConfig(level),
        )
        assert run.outputs["y"].dtype == dtype
        assert run.outputs["y"].astype(np.float32).tolist() == expected
        assert run.notes == (
            f"y was cast to {carrier} and back: Python cannot read {name} from ONNX Runtime",
        )
        assert operators(run) == ["QuantizeLinear"]
        assert run.graph.outputs == ("y",)

    @pytest.mark.parametrize("level", LEVELS)
    def test_bfloat16(self, level):
        cast = Node("Cast", ("x",), ("y",), attributes={"to": 16})
        run = run_ort(case(cast, inputs={"x": f32([1, 9.01])}), SessionConfig(level))
        assert run.outputs["y"].dtype == ml_dtypes.bfloat16
        assert run.outputs["y"].astype(np.float32).tolist() == [1, 9]
        cast = Node("Cast", ("x",), ("y",), attributes={"to": 1})
        run = run_ort(case(cast, inputs={"x": run.outputs["y"]}), SessionConfig(level))
        assert run.outputs["y"].tolist() == [1, 9]

    def test_a_folded_output_is_a_constant_of_its_own_type(self):
        cast = Node("Cast", ("c",), ("y",), attributes={"to": 16})
        run = run_ort(case(cast, inputs={}, constants={"c": f32([1, 2])}))
        assert run.outputs["y"].dtype == ml_dtypes.bfloat16
        assert run.graph.outputs == ("y",)
        assert operators(run) == [] or operators(run) == ["Cast"]


class TestSettings:
    """Level, session entries, disabled optimizers."""

    def test_a_qdq_conv_is_fused(self):
        assert "Conv" in operators(run_ort(qdq_conv(), SessionConfig("ORT_DISABLE_ALL")))
        fused = run_ort(qdq_conv(), SessionConfig("ORT_ENABLE_ALL"))
        assert operators(fused) == [
            "QuantizeLinear",
            "Transpose",
            "QLinearConv",
            "Transpose",
            "DequantizeLinear",
        ]
        assert fused.graph.nodes[2].qualified_name == "com.microsoft.QLinearConv"
        assert fused.graph.nodes[2].attributes["channels_last"] == 1
        assert fused.graph.inputs == ("x",)

    def test_disabled_optimizers(self):
        config = SessionConfig(disabled_optimizers=("QDQSelectorActionTransformer",))
        assert "QLinearConv" not in operators(run_ort(qdq_conv(), config))

    def test_entries(self):
        config = SessionConfig(entries={"session.disable_quant_qdq": "1"})
        assert "QLinearConv" not in operators(run_ort(qdq_conv(), config))

    def test_an_entry_that_the_engine_refuses(self):
        run = run_ort(relu(), SessionConfig(entries={"": "1"}))
        assert run.status is RunStatus.REJECTED
        assert run.message

    def test_an_unknown_level(self):
        with pytest.raises(QlabError, match="^unknown level 'all'; there are ORT_DISABLE_ALL, "):
            run_ort(relu(), SessionConfig("all"))

    def test_an_unknown_cpu(self):
        with pytest.raises(
            QlabError, match="^unknown cpu 'z80'; there are this, avx2, sse, arm64$"
        ):
            run_ort(relu(), cpu="z80")


def test_a_case_that_is_no_model():
    broken = case(Node("Relu", ("x",), ("y",), attributes={"a": object()}), inputs={"x": f32(1)})
    with pytest.raises(CaseError, match="^the case is no ONNX model: "):
        run_ort(broken)


def test_two_threads_at_once():
    def repeat(value):
        node = Node("Relu", ("x",), ("y",))
        return [
            run_ort(case(node, inputs={"x": np.full(100, value + i, np.float32)})).outputs["y"][0]
            - i
            for i in range(30)
        ]

    pairs = [in_thread(lambda value=value: repeat(value)) for value in (100, 200, 300)]
    for thread, _ in pairs:
        thread.join()
    assert [set(answers[0]) for _, answers in pairs] == [{100}, {200}, {300}]


def test_without_qemu_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(pool, "_emulates_x86", lambda: False)
    run = run_ort(relu(), cpu="avx2")
    assert run.status is RunStatus.REJECTED
    assert "apt install qemu-user" in run.message


def test_version_without_metadata(monkeypatch):
    expected = ort_version()

    monkeypatch.setattr(ort, "installed_version", str)
    assert ort_version() == expected


@pytest.mark.parametrize(("cpu", "expected"), [("avx2", 32_767), ("sse", 64_770)])
def test_emulated_cpus_saturate_or_not(cpu, expected):
    if cpu not in emulated_cpus():
        pytest.skip("no qemu-user here: apt install qemu-user")
    node = Node("MatMulInteger", ("a", "b"), ("y",))
    inputs = {"a": np.full((1, 2), 255, np.uint8), "b": np.full((2, 1), 127, np.int8)}
    run = run_ort(case(node, inputs=inputs), cpu=cpu, timeout=60)
    assert (run.status, run.message) == (RunStatus.OK, "")
    assert run.outputs["y"].tolist() == [[expected]]
    assert run.cpu == cpu
