"""Plans example graphs for a GPU, compiles their stubs and wrappers, and holds what each kernel takes under ceilings.

Nothing runs: this asks the compilers alone. `--target cuda` needs nvcc; `--target hip` needs clang with HIP's headers and
the device libraries. Exits with 77, and says why, where what it needs is missing.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77


@dataclasses.dataclass
class Kernel:
    """What one kernel takes: registers of a thread; bytes of stack and spills of a thread, and of static shared memory."""

    name: str
    registers: int = 0
    stack: int = 0
    spills: int = 0
    shared: int = 0


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def run(command):
    """The standard output and errors of a command that must succeed."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(" ".join(map(str, command)) + "\n" + result.stderr)
    return result.stdout, result.stderr


def demangled(kernels):
    text, _ = run(["c++filt", *[kernel.name for kernel in kernels]]) if kernels else ("", "")
    for kernel, name in zip(kernels, text.splitlines()):
        kernel.name = name
    return kernels


# ---- CUDA


def read_ptxas(text):
    """The kernels that `ptxas -v` speaks of."""
    kernels = []
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(\S+)'", line):
            kernels.append(Kernel(found[1]))
        elif found := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            kernels[-1].stack = int(found[1])
            kernels[-1].spills = int(found[2]) + int(found[3])
        elif found := re.search(r"Used (\d+) registers", line):
            kernels[-1].registers = int(found[1])
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[-1].shared = int(shared[1]) if shared else 0
    return kernels


class Cuda:
    host_options = ["-DKGEN_CUDA"]

    def __init__(self, arguments, scratch):
        self.nvcc = shutil.which("nvcc")
        if not self.nvcc:
            skip("there is no nvcc on the path")
        self.arch = arguments.arch

    def compile(self, source, includes):
        _, text = run([self.nvcc, "-c", "-std=c++20", "-O3", f"-arch={self.arch}", "--expt-relaxed-constexpr",
                       "--fmad=false", "-Xptxas", "-v", *includes, source, "-o", os.devnull])
        return read_ptxas(text)


# ---- HIP


def read_amdgpu_metadata(assembly):
    """The kernels that the metadata of an assembly file speaks of.

    Scalar registers that do not suffice go to lanes of vector registers, so they count as spilled only where those do.
    """
    block = re.search(r"^amdhsa\.kernels:\n(.*?)^amdhsa\.", assembly, re.S | re.M)
    kernels = []
    for entry in re.split(r"^  - ", block[1], flags=re.M)[1:] if block else []:
        value = dict(re.findall(r"^    \.(\w+):\s+(\S+)", entry, re.M))  # those of its arguments stand further in
        kernels.append(Kernel(value["name"], int(value["vgpr_count"]), int(value["private_segment_fixed_size"]),
                              int(value["vgpr_spill_count"]), int(value["group_segment_fixed_size"])))
    return kernels


class Hip:
    host_options = ["-DKGEN_HIP", "-D__HIP_PLATFORM_AMD__"]
    # What the device library of an architecture holds, for those that Debian's has none of.
    missing_libraries = {"gfx942": ("942", 9402), "gfx1100": ("1100", 11000)}

    def __init__(self, arguments, scratch):
        self.arch = arguments.arch
        self.rocm = pathlib.Path(arguments.rocm_path)
        binaries = subprocess.run([arguments.llvm_config, "--bindir"], capture_output=True, text=True) \
            if shutil.which(arguments.llvm_config) else None
        if not binaries:
            skip(f"there is no {arguments.llvm_config} on the path")
        self.binaries = pathlib.Path(binaries.stdout.strip())
        if not (self.rocm / "include/hip/hip_runtime.h").exists():
            skip(f"there are no HIP headers in {self.rocm}/include (Debian: libamdhip64-dev)")
        library = next(self.rocm.glob("lib/**/oclc_isa_version_90a.bc"), None)
        if library is None:
            skip(f"there are no device libraries in {self.rocm}/lib (Debian: rocm-device-libs)")
        self.libraries = self.complete(library, scratch)
        self.host_options = [*self.host_options, "-idirafter", self.rocm / "include"]

    def complete(self, library, scratch):
        """A folder of the device libraries, with that of the architecture, which holds its number and nothing else."""
        folder = scratch / "device_libraries"
        folder.mkdir()
        for path in library.parent.glob("*.bc"):
            (folder / path.name).symlink_to(path)
        suffix, number = self.missing_libraries.get(self.arch, (None, None))
        if suffix and not (folder / f"oclc_isa_version_{suffix}.bc").exists():
            text, _ = run([self.binaries / "llvm-dis", library, "-o", "-"])
            source = folder / "isa.ll"
            source.write_text(text.replace("i32 9010", f"i32 {number}"))
            run([self.binaries / "llvm-as", source, "-o", folder / f"oclc_isa_version_{suffix}.bc"])
        return folder

    def compile(self, source, includes):
        assembly, _ = run([self.binaries / "clang++", "-x", "hip", f"--offload-arch={self.arch}",
                           f"--rocm-path={self.rocm}", "--hip-version=5.2.21153",
                           f"--rocm-device-lib-path={self.libraries}", "--cuda-device-only", "-S", "-O3", "-std=c++20",
                           "-ffp-contract=off", "-Wno-pass-failed", "-idirafter", self.rocm / "include", *includes,
                           source, "-o", "-"])
        return read_amdgpu_metadata(assembly)


# ---- all graphs


def check_wrapper(source, compiler, includes):
    run(["g++", "-fsyntax-only", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
         *compiler.host_options, *includes, source])


def too_much(kernel, arguments):
    """What the kernel takes more of than it may, in words."""
    ceilings = {"registers": arguments.registers, "stack": arguments.stack, "spills": 0, "shared": 48 * 1024}
    for what, ceiling in ceilings.items():
        found = getattr(kernel, what)
        if found > ceiling:
            unit = "" if what == "registers" else "bytes of "
            yield f"{kernel.name}: {found} {unit}{what}, more than {ceiling}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="+", type=pathlib.Path)
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--source", required=True, type=pathlib.Path, help="the repository")
    parser.add_argument("--target", choices=["cuda", "hip"], required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--registers", type=int, default=168, help="of a thread")
    parser.add_argument("--stack", type=int, default=0, help="bytes of a thread")
    parser.add_argument("--rocm-path", default="/usr")
    parser.add_argument("--llvm-config", default="llvm-config-19")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        compiler = {"cuda": Cuda, "hip": Hip}[arguments.target](arguments, scratch)
        work = []
        for graph in arguments.graphs:
            emitted = scratch / graph.stem
            run([arguments.kgen, "plan", graph, "--emit", emitted, "--target", arguments.target, "--arch",
                 arguments.arch, "--quiet"])
            includes = ["-I", arguments.source / "templates", "-I", arguments.source / "runtime/include", "-I", emitted]
            check_wrapper(emitted / f"{graph.stem}.cpp", compiler, includes)
            stubs = sorted(path for path in (emitted / "stubs").iterdir() if path.suffix in (".cu", ".hip"))
            work += [functools.partial(compiler.compile, stub, includes) for stub in stubs]
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            found = [kernel for kernels in pool.map(lambda one: one(), work) for kernel in kernels]
    if len(found) < len(work):
        sys.exit(f"{len(found)} kernels were found in {len(work)} stubs")
    problems = [problem for kernel in demangled(found) for problem in too_much(kernel, arguments)]
    print(f"{len(arguments.graphs)} graphs, {len(work)} stubs, {len(found)} kernels for {arguments.arch}; at most "
          f"{max(k.registers for k in found)} registers, {max(k.stack for k in found)} bytes of stack, "
          f"{max(k.spills for k in found)} of spills, {max(k.shared for k in found)} of static shared memory")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
