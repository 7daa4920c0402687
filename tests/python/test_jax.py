"""Calls with JAX's arrays, which are taken and given through DLPack."""

from __future__ import annotations

import unittest

import graphs
import jax
import jax.numpy as jnp
import kgen
import numpy
from test_model import gated, load_running


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.model = graphs.load(graphs.GATED)

    def test_results(self) -> None:
        for rows in (0, 1, 5):
            x = jnp.linspace(-2, 3, 4 * rows, dtype=jnp.float32).reshape(rows, 4)
            results = self.model(x, x + 1)
            for found, expected in zip(results, gated(numpy.asarray(x), numpy.asarray(x + 1))):
                self.assertIsInstance(found, jax.Array)
                numpy.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
            self.assertEqual(jax.jit(lambda y: y * 2)(results[1]).shape, (rows,))

    def test_bfloat16(self) -> None:
        result = load_running()(jnp.array([[1, 2]], jnp.bfloat16), 0)
        self.assertIsInstance(result, jax.Array)
        self.assertEqual(result.dtype, jnp.bfloat16)
        self.assertEqual(result.tolist(), [[-2, 8]])

    def test_what_is_refused(self) -> None:
        x = jnp.ones((3, 4), jnp.float32)
        with self.assertRaisesRegex(TypeError, r"output 'y' .*: the framework's tensors \(.*\) never change; call without out="):
            self.model(x, x, out=(jnp.zeros((6, 4)), jnp.zeros(3)))
        with self.assertRaisesRegex(kgen.ArgumentError, "input 'gate': axis 1 is 3, expected 4"):
            self.model(x, x[:, :3])
        with self.assertRaisesRegex(TypeError, r"input 'x' \(f32\[M, 4\]\): "):
            jax.jit(lambda traced: self.model(traced, x)[1])(x)
        freed = jnp.zeros((3, 4))
        freed.delete()
        with self.assertRaisesRegex(TypeError, r"input 'gate' \(f32\[M, 4\]\): "):
            self.model(x, freed)


if __name__ == "__main__":
    unittest.main()
