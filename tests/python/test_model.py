"""Calls of a model with NumPy's arrays and other things of Python's; references are NumPy's own."""

from __future__ import annotations

import array
import gc
import multiprocessing
import pydoc
import subprocess
import sys
import threading
import unittest

import graphs
import kgen
import ml_dtypes
import numpy

bf16 = ml_dtypes.bfloat16


def gated(x: numpy.ndarray, gate: numpy.ndarray) -> tuple:
    product = x.astype("f8") * gate
    return numpy.maximum(numpy.concatenate([product, product]), 0), product.sum(1)


def arguments(rows: int = 3) -> tuple:
    generator = numpy.random.default_rng(rows)
    return tuple(generator.standard_normal((rows, 4)).astype("f4") for _ in range(2))


def load_running(**options: object) -> kgen.Model:
    folder = graphs.work / "running"
    folder.mkdir(parents=True, exist_ok=True)
    data = numpy.array([2, -4], bf16).tobytes()
    graphs.write_safetensors(folder / "weights.safetensors", "scale", "BF16", data, [2])
    return graphs.load(graphs.RUNNING, **options)


def run_in_process(queue: multiprocessing.Queue) -> None:
    x, gate = arguments()
    y, _ = graphs.load(graphs.GATED)(x, gate)
    queue.put(float(abs(y - gated(x, gate)[0]).max()))


def run_after_fork(model: kgen.Model, queue: multiprocessing.Queue) -> None:
    for attempt in (lambda: model(*arguments()), lambda: graphs.load(graphs.GATED)):
        try:
            attempt()
            queue.put("nothing was refused")
        except kgen.ArgumentError as error:
            queue.put(str(error))
    queue.put(graphs.load(graphs.GATED, threads=1)(*arguments())[1].shape)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = graphs.load(graphs.GATED)

    def check(self, x: numpy.ndarray, gate: numpy.ndarray) -> None:
        for found, expected in zip(self.model(x, gate), gated(x, gate)):
            self.assertIs(type(found), numpy.ndarray)
            self.assertEqual(found.dtype, numpy.float32)
            numpy.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)

    def refuses(self, kind: type, text: str, *given: object, **named: object) -> None:
        with self.assertRaises(kind) as caught:
            self.model(*given, **named)
        self.assertEqual(str(caught.exception), text)

    def test_results(self) -> None:
        for rows in (0, 1, 3, 64, 3):
            self.check(*arguments(rows))

    def test_strides(self) -> None:
        x, gate = arguments()
        wide = numpy.zeros((3, 8), "f4")
        wide[:, ::-2] = gate
        self.check(x, wide[:, ::-2])
        self.check(x, numpy.broadcast_to(gate[:1], (3, 4)))
        self.check(x, numpy.asfortranarray(gate))
        self.refuses(
            kgen.ArgumentError,
            "input 'x': the strides are [1, 3], expected [4, 1] (dense row-major) for the shape [3, 4]",
            numpy.asfortranarray(x),
            gate,
        )
        packed = numpy.zeros(3, [("a", "f4", 4), ("b", "u1")])
        self.refuses(
            TypeError,
            "input 'gate' (f32[M, 4]): axis 0 has a stride of 17 bytes, which is no whole number of elements",
            x,
            packed["a"],
        )

    def test_out(self) -> None:
        x, gate = arguments()
        out = (numpy.empty((6, 4), "f4"), numpy.empty(3, "f4"))
        self.assertIs(self.model(gate=gate, x=x, out=out), out)
        numpy.testing.assert_allclose(out[0], gated(x, gate)[0], rtol=1e-6)
        self.refuses(TypeError, "out has 1 tensors, expected 2: y, total", x, gate, out=out[:1])
        self.refuses(TypeError, "out is one tensor, expected a tuple of 2: y, total", x, gate, out=out[0])
        self.refuses(kgen.ArgumentError, "output 'total' overlaps input 'x' in memory", x, gate, out=(out[0], x[0, :3]))
        out[0].flags.writeable = False
        with self.assertRaisesRegex(TypeError, "output 'y' .*read-only"):
            self.model(x, gate, out=out)

    def test_an_input_that_is_called_out(self) -> None:
        model = graphs.load(graphs.NAMED_OUT)
        x, other, y = (numpy.full(3, number, "f4") for number in (5, 3, 0))
        self.assertEqual(model(x, other).tolist(), [2, 2, 2])
        self.assertIs(model(x, other, out=y), y)
        self.assertEqual(y.tolist(), [2, 2, 2])
        with self.assertRaisesRegex(TypeError, "^input 'out' is missing; pass it by position: the keyword 'out' is for outputs$"):
            model(x, out=y)

    def test_read_only_inputs(self) -> None:
        x, gate = arguments()
        x.flags.writeable = False
        self.check(x, gate)

    def test_bad_arguments(self) -> None:
        x, gate = arguments()
        self.refuses(TypeError, "input 'gate' is missing", x)
        self.refuses(TypeError, "3 inputs were passed, expected 2: x, gate", x, gate, x)
        self.refuses(TypeError, "there is no input 'y'; there are: x, gate", x, gate, y=x)
        self.refuses(TypeError, "input 'x' was passed twice", x, gate, x=x)
        self.refuses(kgen.ArgumentError, "input 'x': the element type is f64, expected f32", x.astype("f8"), gate)
        self.refuses(kgen.ArgumentError, "input 'gate': axis 0 is 2, expected M = 3 with M = 3", x, gate[:2])
        self.refuses(kgen.ArgumentError, "dim M is 65 (axis 0 of input 'x'), expected 0..64", *arguments(65))
        self.refuses(kgen.ArgumentError, "input 'x': the rank is 1, expected 2 [M, 4]", x[0], gate)
        self.refuses(TypeError, "input 'x' (f32[M, 4]): the elements are of the type '>f'", x.astype(">f4"), gate)
        self.refuses(TypeError, "input 'x' (f32[M, 4]): a number was passed, expected a tensor", 1.5, gate)
        for bad, name in ((None, "NoneType"), ([1.0], "list"), (object(), "object")):
            self.refuses(
                TypeError,
                f"input 'x' (f32[M, 4]): {name} is no tensor; pass a NumPy array, a PyTorch tensor, or anything that has "
                "__dlpack__",
                bad,
                gate,
            )
        self.refuses(TypeError, "input 'x' (f32[M, 4]): the elements are of the type 'O'", x.astype(object), gate)
        masked = numpy.ma.masked_array(x, x > 0)
        self.refuses(TypeError, "input 'x' (f32[M, 4]): the array is masked; pass x.filled(number), or x.data for all numbers", masked, gate)

    def test_misaligned(self) -> None:
        x, gate = arguments()
        memory = bytearray(x.nbytes + 1)
        odd = numpy.frombuffer(memory, "u1")[1:].view("f4").reshape(3, 4)
        self.refuses(kgen.ArgumentError, "input 'x': the data is not aligned to the 4 bytes of f32", odd, gate)

    def test_other_producers(self) -> None:
        x, gate = arguments()
        calls = []

        class Own:
            """A tensor of no framework."""

            def __dlpack__(self, **keywords: object) -> object:
                calls.append(keywords)
                return x.__dlpack__()

            def __dlpack_device__(self) -> tuple:
                return x.__dlpack_device__()

        y, _ = self.model(Own(), gate)
        numpy.testing.assert_allclose(y, gated(x, gate)[0], rtol=1e-6)
        self.assertEqual(calls, [{"max_version": (1, 3)}])
        flat = array.array("f", x.ravel())
        y, _ = self.model(memoryview(flat).cast("B").cast("f", [3, 4]), gate)
        numpy.testing.assert_allclose(y, gated(x, gate)[0], rtol=1e-6)

        class Bad(Own):
            def __dlpack__(self, **keywords: object) -> object:
                raise BufferError("it was freed")

        self.refuses(TypeError, "input 'x' (f32[M, 4]): it was freed", Bad(), gate)

        def interrupt(self: object, **keywords: object) -> object:
            raise KeyboardInterrupt

        Bad.__dlpack__ = interrupt  # type: ignore[method-assign]
        with self.assertRaises(KeyboardInterrupt):
            self.model(Bad(), gate)
        Bad.__dlpack__ = lambda self, **keywords: 3  # type: ignore[method-assign]
        self.refuses(TypeError, "input 'x' (f32[M, 4]): __dlpack__ gave no capsule of a tensor", Bad(), gate)

    def test_threads(self) -> None:
        errors: list = []

        def run(rows: int) -> None:
            try:
                for _ in range(200):
                    self.check(*arguments(rows))
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(rows,)) for rows in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_first_calls_of_many_threads(self) -> None:
        """What a first call looks up is looked up by all of them at once; without a global lock, none is taken back."""
        program = (
            "import sys, threading, graphs, kgen, numpy\n"
            "model = graphs.load(graphs.GATED)\n"
            "x, barrier, right = numpy.ones((3, 4), 'f4'), threading.Barrier(16), []\n"
            "def run():\n"
            "    barrier.wait()\n"
            "    right.append(all(model(x, x)[1].tolist() == [4, 4, 4] for _ in range(50)))\n"
            "threads = [threading.Thread(target=run) for _ in range(16)]\n"
            "[thread.start() for thread in threads], [thread.join() for thread in threads]\n"
            "assert right == [True] * 16, right\n"
            "assert not getattr(sys, '_is_gil_enabled', bool)() or not sysconfig.get_config_var('Py_GIL_DISABLED')\n"
        )
        result = subprocess.run([sys.executable, "-c", "import sysconfig\n" + program], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_processes(self) -> None:
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        processes = [context.Process(target=run_in_process, args=(queue,)) for _ in range(3)]
        for process in processes:
            process.start()
        self.assertLess(max(queue.get(timeout=300) for _ in processes), 1e-6)
        for process in processes:
            process.join()

    def test_fork(self) -> None:
        self.model(*arguments())
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=run_after_fork, args=(self.model, queue))
        process.start()
        self.assertIn("the model was loaded before this process was forked: start processes with", queue.get(timeout=60))
        self.assertIn("this process was forked from one that had run models: start", queue.get(timeout=60))
        self.assertEqual(queue.get(timeout=60), (3,))
        process.join()
        self.assertEqual(process.exitcode, 0)

    def test_description(self) -> None:
        text = pydoc.plain(pydoc.render_doc(self.model))
        self.assertIn("y, total = model(x, gate)", text)
        self.assertIn("gate: f32[M, 4] (any strides)", text)
        self.assertIn("M: 0..64", text)
        self.assertEqual([one.type for one in self.model.outputs], ["f32[2*M, 4]", "f32[M]"])
        self.assertEqual(repr(self.model), "<kgen model gated(x: f32[M, 4], gate: f32[M, 4]) -> y: f32[2*M, 4], total: f32[M]>")

    def test_profile(self) -> None:
        with self.model.profile() as profile:
            for _ in range(3):
                self.model(*arguments())
        self.assertEqual({row.count for row in profile}, {3})
        self.assertIn("gated", [row.name for row in profile])
        self.assertTrue(all(row.total_ns > 0 for row in profile))
        self.assertEqual(len(str(profile).splitlines()), 1 + len(profile))


class States(unittest.TestCase):
    def test_state(self) -> None:
        model = load_running()
        x = numpy.array([[1, 2], [3, 4]], bf16)
        first = model(x, 0)
        self.assertEqual(first.dtype, bf16)
        numpy.testing.assert_array_equal(first.astype("f4"), [[-2, 8], [-6, 16]])
        second = model(x[:1], position=numpy.int64(2) + numpy.zeros((), "i8"))
        numpy.testing.assert_array_equal(second.astype("f4"), [[-2, 8], [-6, 16], [-2, 8]])
        cache = model.state["cache"].numpy()
        numpy.testing.assert_array_equal(cache[:4].astype("f4"), [[2, -8], [6, -16], [2, -8], [0, 0]])
        cache[0] = 7
        numpy.testing.assert_array_equal(model(x[:1], 1).astype("f4"), [[-7, -7], [-2, 8]])
        self.assertEqual(repr(model.state), "{cache: bfloat16[16, 2]}")
        with self.assertRaisesRegex(KeyError, "there is no state 'k'; there are: cache"):
            model.state["k"]
        model.reset_state()
        self.assertFalse(numpy.asarray(model.state["cache"]).any())
        del model
        gc.collect()
        cache[:] = 1  # the memory stays for as long as somebody looks at it
        self.assertEqual(float(cache.astype("f4").sum()), 32)

    def test_scalars(self) -> None:
        model = load_running()
        x = numpy.ones((1, 2), bf16)
        for bad, text in (
            (9, "dim P is 9 (the value of input 'position'), expected 0..8"),
            (1.5, "input 'position' (i64[]): float is no number of this type; pass a tensor"),
            (1 << 70, "input 'position' (i64[]): int too big to convert"),
        ):
            with self.assertRaises((TypeError, kgen.ArgumentError)) as caught:
                model(x, bad)
            self.assertEqual(str(caught.exception), text)
        with self.assertRaises(kgen.ArgumentError) as caught:
            model(x.view("u2"), 0)
        self.assertEqual(str(caught.exception), "input 'x': the element type is u16, expected bf16")

    def test_sizes_of_a_line(self) -> None:
        model = graphs.load(graphs.SHAPED)
        self.assertEqual([one.on_host for one in model.inputs], [False, True])
        x, sizes = numpy.arange(12, dtype="f4").reshape(2, 6), numpy.zeros(2, "i8")
        for shape, count in (((2, 6), 3), ((3, 4), 3), ((12, 1), 8), ((3, 4), 0)):  # the same tensor, other numbers
            sizes[:] = shape[0], count
            y, places = model(x, sizes)
            numpy.testing.assert_array_equal(y, -x.reshape(shape))
            numpy.testing.assert_array_equal(places, numpy.arange(count))
        for bad, text in (
            ((3, 9), "dim B is 9 (element 1 of input 'sizes'), expected 0..8"),
            ((-1, 2), "dim A is -1 (element 0 of input 'sizes'), expected 0..2147483647"),
            ((5, 2), "part: [A, 12/A] must have as many elements as x: 12 is greater than 10"),
            ((0, 2), "part: [A, -1] says what -1 stands for where the others are not 0: 1 is greater than 0"),
        ):
            with self.assertRaises((kgen.ArgumentError, kgen.Error)) as caught:
                model(x, numpy.array(bad))
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(kgen.ArgumentError, r"^input 'sizes': axis 0 is 3, expected 2$"):
            model(x, numpy.array([2, 6, 1]))

    def test_scalars_of_floats(self) -> None:
        model = graphs.load(graphs.SCALED)
        x = numpy.array([1, 2, 3], "f4")
        numpy.testing.assert_array_equal(model(x, 2, 10), [12, 14, 16])
        numpy.testing.assert_array_equal(model(x, 0.5, -1.0), [-0.5, 0, 0.5])
        self.assertEqual(model(x, 1e300, 0).tolist(), [numpy.inf] * 3)  # as NumPy has it
        for given, name in (((10**400, 1), "single' (f32[])"), ((1, -(10**400)), "wide' (f64[])")):
            with self.assertRaises(TypeError) as caught:
                model(x, *given)
            self.assertEqual(str(caught.exception), f"input '{name}: int too large to convert to float")
        with self.assertRaisesRegex(TypeError, r"^input 'single' \(f32\[\]\): bool is no number of this type"):
            model(x, True, 1)

    def test_weights(self) -> None:
        load_running()
        other = graphs.work / "other_weights"
        other.mkdir(exist_ok=True)
        graphs.write_safetensors(other / "weights.safetensors", "scale", "F32", bytes(8), [2])
        with self.assertRaisesRegex(kgen.WeightsError, "scale") as caught:
            graphs.load(graphs.RUNNING, weights=other)
        self.assertEqual(caught.exception.status, "KGEN_BAD_WEIGHTS")
        with self.assertRaisesRegex(kgen.WeightsError, "weights.safetensors"):
            graphs.load(graphs.RUNNING, weights=other / "nothing")


if __name__ == "__main__":
    unittest.main()
