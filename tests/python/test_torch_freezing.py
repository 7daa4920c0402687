"""The backend's options "freezing" and "numerics", and what processes that compile the same model do to each other."""

from __future__ import annotations

import multiprocessing
import shutil
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import graphs
import kgen
import kgen.torch
import torch
import torch_models
from torch import nn

FOLDER = graphs.work / "freezing"


class Counting(nn.Module):
    """A buffer that the module changes, one that it does not, parameters of a norm, and a weight that two layers share."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(48, 48), nn.Linear(48, 48)
        self.second.weight = self.first.weight
        self.norm = nn.BatchNorm1d(48)
        self.norm.running_var.uniform_(0.5, 2)
        self.register_buffer("count", torch.zeros(()))
        self.shift = torch.full((48,), 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return self.norm(self.second(torch.relu(self.first(x)))) + self.count + self.shift


class Freezing(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        torch._dynamo.reset()

    def compile(self, module: Any, name: str, **options: Any) -> Any:
        return torch.compile(module, backend="kgen", options={"folder": FOLDER / name, **options})

    def check(self, compiled: Any, module: Any, rows: int = 5, width: int = 48) -> None:
        x = torch.randn(rows, width)
        count = module.count.clone() if hasattr(module, "count") else None
        found = compiled(x)
        if count is not None:
            self.assertEqual(float(module.count), float(count) + 1)
            module.count.copy_(count)
        torch.testing.assert_close(found, module(x), rtol=1e-5, atol=1e-5)

    def test_parameters_are_constants(self) -> None:
        """Packed and folded once, at load; what the module changes stays an input."""
        module = Counting().eval()
        compiled = self.compile(module, "counting", freezing=True)
        with torch.no_grad():
            self.check(compiled, module)
            self.check(compiled, module)
        with torch.inference_mode():
            self.check(compiled, module)
        report = kgen.torch.reports[-1]
        self.assertEqual(report.left, [])
        self.assertRegex(report.planned[0], r"with 8 tensors of the module$")
        work = next((FOLDER / "counting").iterdir())
        text = (work / "graph.yaml").read_text()
        self.assertIn('first_weight: {type: "f32[48, 48]", file: ', text)
        self.assertIn('key: "norm.running_var"', text)
        self.assertNotIn("count:", text.replace("_", ""))
        plan = (work / "src" / "plan.yaml").read_text()
        self.assertRegex(plan, r"kept from load, \d+ bytes")
        self.assertTrue((work / f"{work.name}.safetensors").is_file())
        again = kgen.load(work / "graph.yaml", folder=work)  # by itself, with the weights that lie beside it
        x = torch.randn(5, 48)
        module.count.zero_()
        with torch.no_grad():
            result = [one for one in again(*(torch.zeros(()) if not each.dims else x for each in again.inputs)) if one.dim()]
            torch.testing.assert_close(result[0], module(x), rtol=1e-5, atol=1e-5)

    def test_parameters_that_change(self) -> None:
        module = Counting().eval()
        compiled = self.compile(module, "changing", freezing=True)
        with torch.no_grad(), self.assertLogs("kgen.torch", "WARNING") as logs:
            self.check(compiled, module)
            module.first.weight.mul_(2)
            self.check(compiled, module)
            self.check(compiled, module)
            module.first.bias = nn.Parameter(torch.ones(48))
            self.check(compiled, module)
            module.second.bias.data = torch.randn(48)
            self.check(compiled, module)
            module.load_state_dict({name: one + 1 for name, one in module.state_dict().items() if one.is_floating_point()}, strict=False)
            self.check(compiled, module)
        self.assertEqual(len(logs.records), 4, logs.output)
        self.assertRegex(logs.output[0], "first.weight changed since it was frozen, as .*: loaded anew")
        self.assertRegex(kgen.torch.reports[-1].planned[-1], "^loaded again, as parameters changed or are another module's: ")

    def test_models_that_differ_in_weights_alone(self) -> None:
        """They share what is built, and each has its own numbers, while the other is there."""
        modules = [torch_models.Mlp().eval() for _ in range(3)]
        compiled = []
        with torch.no_grad():
            for module in modules:
                torch._dynamo.reset()
                compiled.append(self.compile(module, "shared", freezing=True))
                self.check(compiled[-1], module, width=24)
            for one, module in zip(compiled, modules):
                self.check(one, module, width=24)
            with mock.patch("kgen.torch._backend.load", side_effect=AssertionError("loaded again")):
                for one, module in 2 * [*zip(compiled, modules)]:
                    self.check(one, module, width=24)
        self.assertEqual(len([each for each in (FOLDER / "shared").iterdir() if each.is_dir()]), 1)

    def test_threads(self) -> None:
        module = torch_models.Mlp().eval()
        compiled = self.compile(module, "threads", freezing=True)
        with torch.no_grad():
            self.check(compiled, module, width=24)
            module.layers[0].weight.mul_(3)
        wrong: list = []

        def run() -> None:
            try:
                with torch.no_grad():
                    for _ in range(20):
                        self.check(compiled, module, width=24)
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_where_gradients_are_needed(self) -> None:
        module = nn.Linear(3, 2)
        compiled = self.compile(module, "gradients", freezing=True)
        compiled(torch.randn(4, 3)).sum().backward()
        self.assertIsNotNone(module.weight.grad)
        self.assertIn("gradients are needed", kgen.torch.reports[-1].left[0])

    def test_options_that_are_wrong(self) -> None:
        for options in ({"weights": "here"}, {"freezng": True}):
            torch._dynamo.reset()
            with self.assertRaisesRegex(Exception, "there are no weights|freezng"):
                self.compile(torch.relu, "wrong", **options)(torch.ones(3))


    def test_folder_that_is_a_file(self) -> None:
        """Nothing can be written there: PyTorch computes, and it is said why."""
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / "file").write_text("")
        with self.assertLogs("kgen.torch", "WARNING") as logs:
            self.assertEqual(self.compile(torch.neg, "file")(torch.ones(2)).tolist(), [-1, -1])
        self.assertIn("nothing can be written to", logs.output[0])
        self.assertIn("nothing can be written to", kgen.torch.reports[-1].left[0])


class Numerics(unittest.TestCase):
    def test_rounded_after_every_operator(self) -> None:
        """In bf16 the numbers of eager, bit by bit; f32 chains are rounded so anyway."""

        def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return (x * y + x) * 0.3 - y * y

        x, y = (torch.randn(1000, dtype=torch.bfloat16) for _ in range(2))
        torch._dynamo.reset()
        options = {"folder": FOLDER / "numerics", "numerics": "match_unfused"}
        self.assertTrue(torch.equal(torch.compile(function, backend="kgen", options=options)(x, y), function(x, y)))
        torch._dynamo.reset()
        fast = torch.compile(function, backend="kgen", options={"folder": FOLDER / "fast"})
        self.assertFalse(torch.equal(fast(x, y), function(x, y)))
        self.assertTrue(torch.equal(fast(x.float(), y.float()), function(x.float(), y.float())))

        class Module(nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return function(x, y)

        exported = kgen.from_torch(Module(), (x, y), path=FOLDER / "exact.yaml", numerics="match_unfused")
        self.assertIn("numerics: match_unfused", exported.graph.read_text())
        self.assertTrue(torch.equal(exported.load(folder=FOLDER / "exact")(x, y), function(x, y)))


def compile_in_process(folder: str, seed: int, queue: Any) -> None:
    try:
        torch.manual_seed(seed)
        module = torch_models.Mlp().eval()
        compiled = torch.compile(module, backend="kgen", options={"folder": Path(folder), "freezing": True})
        x = torch.randn(5, 24)
        with torch.no_grad():
            error = max(float((compiled(x) - module(x)).abs().max()) for _ in range(3))
        queue.put((error, kgen.torch.reports[-1].left))
    except BaseException as problem:
        queue.put((repr(problem), []))


class AtOnce(unittest.TestCase):
    def test_processes_compile_one_model(self) -> None:
        """Into one folder, that nobody has made yet: the same source, and weights of their own."""
        folder = FOLDER / "at_once"
        shutil.rmtree(folder, ignore_errors=True)
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        processes = [context.Process(target=compile_in_process, args=(str(folder), seed, queue)) for seed in (1, 1, 2, 3)]
        for process in processes:
            process.start()
        for _ in processes:
            error, left = queue.get(timeout=600)
            self.assertEqual(left, [])
            self.assertLess(error, 1e-5)
        for process in processes:
            process.join()
        self.assertEqual(len(list(folder.iterdir())), 1)

    def test_weights_that_are_written_anew(self) -> None:
        """A model that is loaded keeps the numbers that it was loaded with, though its file is another one since."""
        program = (
            "import sys, torch, kgen, graphs, gc\n"
            "folder = graphs.work / 'freezing' / 'anew'\n"
            "def export(factor):\n"
            "    module = torch.nn.Linear(512, 512, bias=False)\n"
            "    torch.nn.init.constant_(module.weight, factor)\n"
            "    return kgen.from_torch(module, (torch.ones(1, 512),), path=folder / 'anew.yaml')\n"
            "one = export(1).load(folder=folder)\n"
            "other = export(2).load(folder=folder)\n"
            "export(3)\n"
            "(folder / 'anew.safetensors').unlink()\n"
            "gc.collect()\n"
            "x = torch.ones(1, 512)\n"
            "print(float(one(x)[0, 0]), float(other(x)[0, 0]))\n"
        )
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "512.0 1024.0"), result.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
