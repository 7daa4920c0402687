"""The package's hints, and a program that uses them, as mypy --strict sees them."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

import kgen

package = Path(kgen.__file__).parent


class Types(unittest.TestCase):
    def check(self, *arguments: str) -> None:
        environment = {**os.environ, "MYPYPATH": str(package.parent), "MYPY_CACHE_DIR": os.devnull}
        command = [sys.executable, "-m", "mypy", "--strict", *arguments]
        result = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_package(self) -> None:
        self.check("--follow-imports=silent", *map(str, sorted(package.glob("*.py"))))

    def test_program(self) -> None:
        self.check("--follow-imports=silent", str(Path(__file__).with_name("consumer_of_types.py")))

    def test_package_with_torch(self) -> None:
        python = os.environ.get("KGEN_TORCH_PYTHON", "")
        if not os.path.isfile(python):
            self.skipTest("no Python with torch: scripts/setup --torch")
        self.check("--python-executable", python, "-p", "kgen")


if __name__ == "__main__":
    unittest.main()
