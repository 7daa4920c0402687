"""Planning, building and caching; and what is refused."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from typing import Any, List
from unittest import mock

import graphs
import kgen
import numpy
from kgen import _load


class Plans(unittest.TestCase):
    def test_diagnostics(self) -> None:
        path = graphs.write(graphs.BROKEN, graphs.work / "broken")
        with self.assertRaises(kgen.PlanError) as caught:
            kgen.plan(path, emit=graphs.work / "broken" / "src")
        self.assertIn("broken.yaml:4:8: error: unknown operator 'rleu'", str(caught.exception))
        self.assertIn("^", str(caught.exception))
        first = caught.exception.diagnostics[0]
        self.assertEqual((Path(first.file).name, first.line, first.column, first.severity), ("broken.yaml", 4, 8, "error"))

    def test_names_that_look_like_options(self) -> None:
        folder = graphs.work / "options"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "--help.yaml").write_text(graphs.GATED)
        before = os.getcwd()
        os.chdir(folder)
        try:
            self.assertEqual(kgen.plan("--help.yaml", emit="-src").folder, (folder / "-src").resolve())
        finally:
            os.chdir(before)

    def test_plan_and_build(self) -> None:
        folder = graphs.work / "steps"
        shutil.rmtree(folder, ignore_errors=True)
        plan = kgen.plan(graphs.write(graphs.GATED, folder), emit=folder / "src")
        self.assertEqual((plan.graph, plan.folder), ("gated", (folder / "src").resolve()))
        self.assertIn("stub", plan.summary)
        library = kgen.build(folder / "src")
        written = library.stat().st_mtime_ns
        self.assertEqual(kgen.build(folder / "src"), library)
        self.assertEqual(library.stat().st_mtime_ns, written)
        x = numpy.full((2, 4), 3, "f4")
        y, _ = kgen.load_built(folder / "src")(x, x)
        self.assertEqual(float(y.max()), 9)

    def test_built_library(self) -> None:
        folder = graphs.work / "library"
        kgen.plan(graphs.write(graphs.GATED, folder), emit=folder / "src")
        library = kgen.build(folder / "src")
        x = numpy.full((2, 4), 3, "f4")
        with mock.patch.dict(os.environ, PATH="", KGEN_HOME=str(graphs.work)):  # no kgen, and nothing to build with
            model = kgen.load_library(library)
            self.assertEqual(model.graph, "gated")
            self.assertEqual(float(model(x, x)[0].max()), 9)
            with self.assertRaisesRegex(kgen.Error, "gated-.*so has no 'kgen_graph_other': it was built for another graph"):
                kgen.load_library(library, graph="other")
        with self.assertRaisesRegex(kgen.Error, "cannot open the library: .*nothing.so"):
            kgen.load_library(folder / "nothing.so")

    def test_another_kgen_than_before(self) -> None:
        """What is built in a folder by one kgen is built with the next one's runtime and headers, once that is asked for."""
        first = Path(os.environ.get("KGEN_HOME") or Path(kgen.__file__).parent / "home")
        second = graphs.work / "another_kgen"
        shutil.rmtree(second, ignore_errors=True)
        shutil.copytree(first, second, symlinks=True)
        folder = graphs.work / "homes"
        path = graphs.write(graphs.GATED, folder)
        kgen.load(path, folder=folder)
        with mock.patch.dict(os.environ, KGEN_HOME=str(second)):
            kgen.load(path, folder=folder)
        cached = next(folder.rglob("CMakeCache.txt")).read_text()
        self.assertRegex(cached, rf"(?m)^kgen_DIR:\w+={second}/lib/cmake/kgen$")

    def test_generator_that_is_missing(self) -> None:
        home = graphs.work / "without_generator"
        (home / "lib" / "cmake" / "kgen").mkdir(parents=True, exist_ok=True)
        (home / "bin").mkdir(exist_ok=True)
        path = graphs.write(graphs.GATED, home)
        with mock.patch.dict(os.environ, KGEN_HOME=str(home)):
            with self.assertRaisesRegex(kgen.BuildError, "there is no generator here .*: kgen.load_built and kgen.load_library take"):
                kgen.plan(path, emit=home / "src")
            program = home / "bin" / "kgen"
            program.write_text("#!/bin/sh\necho 'kgen: libclang-cpp.so.19: cannot open shared object file' >&2\nexit 127\n")
            program.chmod(0o755)
            with self.assertRaisesRegex(kgen.BuildError, "the generator cannot start: kgen: libclang-cpp"):
                kgen.plan(path, emit=home / "src")
            program.unlink()

    def test_nothing_planned(self) -> None:
        with self.assertRaisesRegex(kgen.PlanError, "there is no plan.yaml; write the source with kgen.plan"):
            kgen.build(graphs.work)


class Edits(unittest.TestCase):
    def test_edits_are_kept_and_used(self) -> None:
        folder = graphs.work / "edited"
        shutil.rmtree(folder, ignore_errors=True)
        text = graphs.BROKEN.replace("broken", "edited").replace("rleu", "relu")
        path = graphs.write(text, folder)
        x = numpy.array([-2, -1, 1, 2], "f4")
        before = kgen.load(path, folder=folder)
        stub = folder / "src" / "stubs" / "stub_y.cpp"
        stub.write_text(stub.read_text().replace("(at)))", "(at)) + kgen::Vec<float, W>(1))"))
        after = kgen.load(path, folder=folder)
        self.assertEqual(after(x).tolist(), [1, 1, 2, 3])
        self.assertEqual(before(x).tolist(), [0, 0, 1, 2])  # what was loaded stays as it was
        path.write_text(text + "# another line\n")
        self.assertEqual(kgen.load(path, folder=folder)(x).tolist(), [1, 1, 2, 3])
        stub.write_text(stub.read_text().replace("kgen::Vec<float, W>(1)", "kgen::Vac"))
        with self.assertRaises(kgen.BuildError) as caught:
            kgen.load(path, folder=folder)
        self.assertRegex(str(caught.exception), r"stub_y\.cpp:\d+:\d+: error: .*Vac")
        stub.write_text(stub.read_text().replace(" + kgen::Vac", ""))
        self.assertEqual(kgen.load(path, folder=folder)(x).tolist(), [0, 0, 1, 2])


def load_in_process(folder: str, queue: multiprocessing.Queue) -> None:
    x = numpy.full((2, 4), 3, "f4")
    try:
        queue.put(float(kgen.load(Path(folder) / "gated.yaml", folder=folder)(x, x)[0].max()))
    except Exception as error:
        queue.put(repr(error))


def load_in_turns(paths: List[Path], folder: Path, queue: multiprocessing.Queue) -> None:
    try:
        queue.put([float(kgen.load(path, folder=folder)(numpy.ones(4, "f4"))[0]) for path in paths])
    except Exception as error:
        queue.put(repr(error))


class AtOnce(unittest.TestCase):
    def test_processes_and_threads_build_one_folder(self) -> None:
        """Nothing is planned or built yet; all of them want it, and one of them does it."""
        folder = graphs.work / "at_once"
        shutil.rmtree(folder, ignore_errors=True)
        path = graphs.write(graphs.GATED, folder)
        context = multiprocessing.get_context("spawn")
        queue: multiprocessing.Queue = context.Queue()
        processes = [context.Process(target=load_in_process, args=(str(folder), queue)) for _ in range(3)]
        for process in processes:
            process.start()
        x = numpy.full((2, 4), 3, "f4")
        found: list = []
        threads = [threading.Thread(target=lambda: found.append(float(kgen.load(path, folder=folder)(x, x)[0].max()))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found += [queue.get(timeout=300) for _ in processes]
        for process in processes:
            process.join()
        self.assertEqual(found, [9.0] * 6)
        self.assertEqual(len(list((folder / "build").glob("gated-*.so"))), 1)


    def scaled(self, by: int) -> Path:
        """A graph of the one name and folder, times a number."""
        text = f"graph: contested\ninputs: {{x: 'f32[4]'}}\nnodes:\n- {{op: mul, in: [x, {by}], out: y}}\noutputs: ['y']\n"
        return graphs.write(text, graphs.work / "contested" / str(by))

    def test_folder_that_is_built_anew_before_its_library_is_used(self) -> None:
        folder = graphs.work / "contested" / "between"
        x = numpy.ones(4, "f4")
        make_model, others = _load.make_model, []

        def late(*arguments: Any) -> kgen.Model:
            with mock.patch.object(_load, "make_model", make_model):
                others.append(kgen.load(self.scaled(3), folder=folder))
            return make_model(*arguments)

        with mock.patch.object(_load, "make_model", late):
            model = kgen.load(self.scaled(2), folder=folder)
        self.assertEqual((model(x).tolist(), others[0](x).tolist()), ([2] * 4, [3] * 4))
        self.assertEqual(len(list((folder / "build").glob("contested-*.so"))), 1)

    def test_processes_that_build_different_graphs_in_one_folder(self) -> None:
        folder = graphs.work / "contested" / "shared"
        context = multiprocessing.get_context("spawn")
        queue: multiprocessing.Queue = context.Queue()
        turns = [[self.scaled(by) for by in order] for order in ((2, 3, 2), (3, 2, 3))]
        processes = [context.Process(target=load_in_turns, args=(paths, folder, queue)) for paths in turns]
        for process in processes:
            process.start()
        found = [queue.get(timeout=300) for _ in processes]
        for process in processes:
            process.join()
        self.assertEqual(sorted(found, key=str), [[2.0, 3.0, 2.0], [3.0, 2.0, 3.0]])


class Places(unittest.TestCase):
    def test_names_with_spaces_and_letters_of_all_kinds(self) -> None:
        folder = graphs.work / "sp ace, 日本 'ü' (#%)"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "my gräph.yaml"
        path.write_text(graphs.GATED)
        x = numpy.full((2, 4), 3, "f4")
        self.assertEqual(float(kgen.load(path, folder=folder / "wo rk")(x, x)[0].max()), 9)
        for mark in (";", '"', "$", "\\", "&", "|", "\n"):
            with self.assertRaisesRegex(kgen.BuildError, "CMake builds nothing in a folder with '.*' in its name: .*; name another"):
                kgen.load(path, folder=graphs.work / f"a{mark}b")

    def test_folder_that_is_read_only(self) -> None:
        """What is built in it is loaded; nothing else is, with the folder's name."""
        cache = graphs.work / "read_only"
        shutil.rmtree(cache, ignore_errors=True)
        path = graphs.write(graphs.GATED, graphs.work / "read_only_graph")
        program = (
            "import os, sys, kgen, numpy\n"
            "if os.geteuid() == 0: os.seteuid(65534)\n"
            "x = numpy.full((2, 4), 3, 'f4')\n"
            "try: print(float(kgen.load(sys.argv[1])(x, x)[0].max()))\n"
            "except kgen.BuildError as error: print(error)\n"
        )

        def run(graph: Path) -> str:
            environment = {**os.environ, "KGEN_CACHE": str(cache)}
            command = [sys.executable, "-c", program, str(graph)]
            result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
            return (result.stdout + result.stderr).strip()

        with mock.patch.dict(os.environ, KGEN_CACHE=str(cache)):
            kgen.load(path)
        other = graphs.write(graphs.GATED.replace("graph: gated", "graph: other"), graphs.work / "read_only_graph")
        folders = [cache, *(each for each in cache.rglob("*") if each.is_dir())]
        for each in folders:
            each.chmod(0o555)
        try:
            self.assertEqual(run(path), "9.0")
            self.assertRegex(run(other), "^nothing can be written to .*read_only/other-.*: Permission denied; name another folder")
        finally:
            for each in folders:
                each.chmod(0o755)

    def test_folder_that_is_a_file(self) -> None:
        path = graphs.write(graphs.GATED, graphs.work / "a_file")
        with self.assertRaisesRegex(kgen.BuildError, "nothing can be written to .*gated.yaml.*: (Not a directory|File exists)"):
            kgen.load(path, folder=path)


class Tools(unittest.TestCase):
    def missing(self, **environment: str) -> kgen.BuildError:
        source = graphs.work / "tools"
        kgen.plan(graphs.write(graphs.BROKEN.replace("rleu", "exp"), source), emit=source / "src")
        with mock.patch.dict(os.environ, environment), self.assertRaises(kgen.BuildError) as caught:
            kgen.build(source / "src", source / "build")
        return caught.exception

    def test_missing_tools(self) -> None:
        bin_folder = graphs.work / "few_tools"
        shutil.rmtree(bin_folder, ignore_errors=True)
        bin_folder.mkdir(parents=True)
        error = self.missing(PATH=str(bin_folder))
        self.assertEqual(error.tool, "cmake")
        self.assertEqual(
            str(error), "CMake is missing: there is no 'cmake' in PATH; install cmake (3.25 or newer)"
        )
        for tool in ("cmake", "ninja"):
            (bin_folder / tool).symlink_to(str(shutil.which(tool)))
        self.assertIn("a C++20 compiler is missing: there is no 'c++' or", str(self.missing(PATH=str(bin_folder))))
        self.assertEqual(self.missing(CXX="no-such-compiler").tool, "no-such-compiler")
        self.assertEqual(self.missing(KGEN_HOME=str(bin_folder)).tool, "kgen")


class Interpreters(unittest.TestCase):
    def test_other_interpreters_are_refused(self) -> None:
        code = f"import sys; sys.path[:] = {sys.path!r}; import kgen"
        if sys.version_info >= (3, 13):
            lines = ["import _interpreters as more, sys", f"raised = more.exec(more.create(), {code!r})",
                     "sys.exit(raised.formatted if raised else 0)"]  # fmt: skip
        else:
            lines = ["import _xxsubinterpreters as more", f"more.run_string(more.create(), {code!r})"]
        result = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stderr)  # an exception, no signal
        self.assertIn("ImportError", result.stderr)


if __name__ == "__main__":
    unittest.main()
