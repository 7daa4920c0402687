"""Random arguments, good and bad: each call gives NumPy's result, or an exception with the argument's name. It never crashes,
and never writes outside the tensors that it was given."""

from __future__ import annotations

import gc
import os
import random
import unittest
import weakref
from typing import Any, Callable, Dict, List, Tuple

import graphs
import kgen
import numpy
from test_model import gated, load_running

ROUNDS = int(os.environ.get("KGEN_HOSTILE_ROUNDS", "1500"))
GUARD = 64  # elements around each array that nothing may touch


class Guarded:
    """An array within memory of a known pattern."""

    def __init__(self, shape: Tuple[int, ...], dtype: Any = "f4") -> None:
        size = int(numpy.prod(shape))
        self.memory = numpy.full(size + 2 * GUARD, 77, dtype)
        self.array = self.memory[GUARD : GUARD + size].reshape(shape)

    def is_whole(self) -> bool:
        return bool((self.memory[:GUARD] == 77).all() and (self.memory[len(self.memory) - GUARD :] == 77).all())


def good(draw: random.Random, rows: int) -> numpy.ndarray:
    return numpy.random.default_rng(draw.randrange(1 << 30)).standard_normal((rows, 4)).astype("f4")


class Own:
    """What frameworks hand over, without one."""

    def __init__(self, array: numpy.ndarray, device: Tuple[int, int] = (1, 0)) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.device


def array_of(tensor: Any) -> numpy.ndarray:
    return numpy.asarray(tensor.array if isinstance(tensor, Own) else tensor)


VIEWS = """\
graph: views
dims: {M: 0..8}
inputs: {x: "f32[M, 4]", s: "f32[]"}
nodes:
- {op: reshape, in: x, out: flat, shape: [4*M]}
- {op: transpose, in: x, out: turned, perm: [1, 0]}
- {op: neg, in: s, out: t}
outputs: {whole: x, flat: flat, turned: turned, t: t, again: t}
"""


# Each makes something else of a good array; what is still good is computed.
SPOILERS: List[Callable[[random.Random, numpy.ndarray], Any]] = [
    lambda draw, x: x,
    lambda draw, x: x.astype(draw.choice(["f8", "f2", "i4", "i8", "u1", "?", "c8", "c16", ">f4", "M8[s]", "S4", "U2"])),
    lambda draw, x: x[::-1],
    lambda draw, x: x[:, ::-1],
    lambda draw, x: numpy.repeat(x, 2, 1)[:, :: draw.choice([2, -2])],
    lambda draw, x: numpy.asfortranarray(x),
    lambda draw, x: numpy.broadcast_to(x[:1], x.shape) if len(x) else x,
    lambda draw, x: x[: draw.randrange(len(x) + 1)],
    lambda draw, x: x[:, : draw.randrange(5)],
    lambda draw, x: x.reshape(draw.choice([(-1,), (len(x), 4, 1), (1, len(x), 4), (4, len(x))])) if len(x) else x[0:0, 0:0],
    lambda draw, x: numpy.frombuffer(bytearray(x.nbytes + 8), "u1")[draw.choice([1, 2, 3, 4]) :][: x.nbytes].view("f4").reshape(x.shape),
    lambda draw, x: numpy.lib.stride_tricks.as_strided(x, x.shape, draw.choice([(0, 0), (0, 4), (4, 4), (-16, 4)])) if len(x) == 1 else x,
    lambda draw, x: draw.choice([None, 3, 1.5, "x", b"x", [1.0], (), {}, object(), int, x.tolist(), numpy.float32(2), True, 10**40]),
    lambda draw, x: numpy.ma.masked_array(x),
    lambda draw, x: x.view(numpy.matrix) if x.size else x,
    lambda draw, x: memoryview(x),
    lambda draw, x: memoryview(x)[::-1] if len(x) else memoryview(x),
    lambda draw, x: Own(x, draw.choice([(1, 0), (2, 0), (10, 3), (-1, 0), (1, 5)])),
    lambda draw, x: numpy.zeros((65 + draw.randrange(3), 4), "f4"),
    lambda draw, x: numpy.zeros([1] * draw.choice([0, 1, 5, 32]), "f4"),
    lambda draw, x: numpy.zeros(3, [("a", "f4", 4), ("b", "u1")])["a"],
]  # fmt: skip


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = graphs.load(graphs.GATED)

    def call(self, given: Tuple[Any, ...], named: Dict[str, Any]) -> Any:
        """The result; nothing where the call is refused in words that name what is wrong."""
        try:
            return self.model(*given, **named)
        except (TypeError, kgen.Error) as error:
            self.assertRegex(str(error), r"input '?\w|output '\w|out has|out is|there is no input|inputs were passed|dim M", (given, named))
            return None

    def test_arguments(self) -> None:
        draw = random.Random(5)
        refused = 0
        for number in range(ROUNDS):
            rows = draw.choice([0, 1, 1, 2, 5, 64])
            inputs = [good(draw, rows), good(draw, rows)]
            for side in (0, 1):
                if draw.random() < 0.6:
                    inputs[side] = draw.choice(SPOILERS)(draw, inputs[side])
            out = [Guarded((2 * rows, 4)), Guarded((rows,))]
            arrays: List[Any] = [one.array for one in out]
            if draw.random() < 0.3:
                arrays[draw.randrange(2)] = draw.choice(SPOILERS)(draw, good(draw, rows))
            if draw.random() < 0.05:
                arrays[1] = inputs[0]
            given: Tuple[Any, ...] = tuple(inputs)
            named: Dict[str, Any] = {}
            how = draw.random()
            if how < 0.2:
                given, named = (), {"x": inputs[0], "gate": inputs[1]}
            elif how < 0.25:
                given, named = given[:1], draw.choice([{}, {"x": inputs[0]}, {"gaet": inputs[1]}, {"gate": inputs[1], "y": 1}])
            elif how < 0.28:
                given = (*given, inputs[0])
            if draw.random() < 0.5:
                named["out"] = draw.choice([tuple(arrays), arrays, tuple(arrays[:1]), arrays[0], None, (arrays[1], arrays[0])])
            with self.subTest(round=number):
                before = [numpy.array(one, copy=True) if isinstance(one, numpy.ndarray) else None for one in inputs]
                result = self.call(given, named)
                refused += result is None
                self.assertTrue(all(one.is_whole() for one in out))
                if result is None or named.get("out") is not None and any(numpy.shares_memory(a, b) for a in arrays for b in inputs
                                                                          if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray)):  # fmt: skip
                    continue
                x, gate = (numpy.array(array_of(one)) for one in inputs)
                for found, expected in zip(result, gated(x, gate)):
                    numpy.testing.assert_allclose(array_of(found), expected, rtol=1e-5, atol=1e-5)
                for one, was in zip(inputs, before):
                    if was is not None:
                        numpy.testing.assert_array_equal(one, was)
        self.assertGreater(refused, ROUNDS // 4)
        self.assertLess(refused, ROUNDS - ROUNDS // 8)

    def test_memory_that_is_freed(self) -> None:
        """An input that nobody else holds lives until the call has read it, and the result as long as it is looked at."""
        for _ in range(50):
            y, total = self.model(numpy.ones((64, 4), "f4"), numpy.full((64, 4), 2, "f4"))
            view = y[::2]
            del y
            gc.collect()
            self.assertEqual(float(view.sum() + total.sum()), 2 * 64 * 4 + 2 * 64 * 4)
        array = numpy.ones((3, 4), "f4")
        proxy = weakref.proxy(array)
        del array
        with self.assertRaisesRegex(TypeError, r"^input 'gate' \(f32\[M, 4\]\): weakly-referenced object no longer exists$"):
            self.model(numpy.ones((3, 4), "f4"), proxy)

    def test_arrays_that_change_while_they_are_asked(self) -> None:
        x = numpy.ones((3, 4), "f4")

        class Changing(Own):
            def __dlpack__(self, **_: Any) -> Any:
                capsule = self.array.__dlpack__()
                gc.collect()
                self.array = numpy.zeros((1, 1), "f4")
                return capsule

        y, _ = self.model(Changing(numpy.full((3, 4), 3, "f4")), x)
        self.assertEqual(float(y.max()), 3)

    def test_outputs_that_are_views_of_inputs(self) -> None:
        """Results have memory of their own, also where a graph computes nothing; tensors without axes and without elements."""
        model = graphs.load(VIEWS)
        for rows in (0, 3):
            x = numpy.arange(4 * rows, dtype="f4").reshape(rows, 4)
            results = model(x, numpy.float32(2.5).reshape(()))
            expected = (x, x.ravel(), x.T, numpy.float32(-2.5), numpy.float32(-2.5))
            for i, (one, other) in enumerate(zip(results, expected)):
                numpy.testing.assert_array_equal(one, other)
                self.assertEqual(one.shape, other.shape)
                self.assertFalse(any(numpy.shares_memory(one, each) for each in (x, *results[:i], *results[i + 1 :])))
        out = [numpy.empty(one.shape, "f4") for one in results]
        out[1] = x.reshape(-1)
        with self.assertRaisesRegex(kgen.ArgumentError, "^output 'flat' overlaps input 'x' in memory$"):
            model(x, 1.0, out=out)

    def test_states(self) -> None:
        model = load_running()
        state = model.state["cache"]
        view = state.numpy()
        for bad in ("numpy", 3, None, ("cache",)):
            with self.assertRaises(KeyError):
                model.state[bad]
        with self.assertRaises((TypeError, kgen.Error)):
            model(view[:1], 0, out=view[1:2])  # memory of the state itself
        del model, state
        gc.collect()
        view[:] = 1


if __name__ == "__main__":
    unittest.main()
