"""Compiles stubs for a GPU's architecture, warnings being errors, and holds what each kernel takes under ceilings: no
spills, nothing in local memory, and no more registers than its occupancy was planned with.

    compile_stubs.py --target cuda|hip --arch ARCH --kgen KGEN --source REPOSITORY GRAPH.yaml... STUBS.cpp...

Graphs are planned first; a stub that several have is compiled once, and those of one graph together. Nothing runs: this
asks the compilers for the device's code alone, through ccache where there is one. `cuda` needs nvcc; `hip` needs clang
with HIP's headers and the device libraries. Exits with 77, and says why, where what it needs is missing.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

# Registers of a thread, by kernel. 65536 registers of an sm_90 multiprocessor are 64 for each of 1024 threads.
REGISTERS = {
    "sm_90a": {"elementwise_kernel": 80, "tile_kernel": 128, "register_rows_kernel": 168, "memory_rows_kernel": 128,
               "matmul_kernel": 128, "warpgroup_matmul_kernel": 168, "tall_matmul_kernel": 168, "attention_kernel": 128,
               "grouped_matmul_kernel": 128, "warpgroup_grouped_matmul_kernel": 168,
               "warpgroup_attention_kernel": 168, "merge_attention_kernel": 64,
               "skinny_matmul_kernel": 168,  # of 160 or 288 threads, one or two blocks a multiprocessor
               "staged_matmul_kernel": 200,  # of 320 threads, one block a multiprocessor
               "persistent_matmul_kernel": 128,  # of 512 threads, one block a multiprocessor
               "arranged_matmul_kernel": 168, "warpgroup_streamed_matmul_kernel": 168,  # of 384 threads
               "block_scaled_matmul_kernel": 168, "split_block_scaled_matmul_kernel": 168,  # of 384
               "few_rows_matmul_kernel": 255,  # of 128 threads, two or three blocks a multiprocessor
               "vector_matmul_kernel": 128,  # of 256 threads, two blocks a multiprocessor
               "line_matmul_kernel": 168,  # of 128 or 256 threads, one to three blocks a multiprocessor
               "skinny_attention_kernel": 248,  # of 160 or 288 threads, one block a multiprocessor
               "scan_along_kernel": 64, "scan_across_kernel": 64},
}
# Those of sm_90a hold for older and newer devices, too. Waves that multiply alone have all that two blocks of 128 threads
# find.
WAVES = ("wave_matmul_kernel", "wave_batched_matmul_kernel", "wave_grouped_matmul_kernel")
REGISTERS["sm_90a"] |= dict.fromkeys(WAVES, 255)
REGISTERS |= {arch: REGISTERS["sm_90a"] for arch in ("sm_80", "sm_86", "sm_89", "sm_100", "sm_120")}
OTHER_REGISTERS = {"cuda": 128, "hip": 256}  # 512 of a SIMD of gfx90a for two waves
# Where scalar registers go to lanes of vector registers, clang keeps 8 or 16 bytes of stack for the swap.
STACK = {"cuda": 0, "hip": 16}
# Bytes of stack, which hold spilled registers. Where the roles of a kernel share out its registers anew, the assembler
# saves one or two of each thread, whatever shares they get; of attention's, heads of 256 elements and three warpgroups
# leave the threads that load few, and those that multiply none for what they need between two tiles of rows.
SPILLED = {"warpgroup_matmul_kernel": 8, "tall_matmul_kernel": 8, "block_scaled_matmul_kernel": 8,
           "warpgroup_attention_kernel": 104}
# Where what a prologue reads of two operands is on its way beside the sums, ptxas saves ten registers; where both operands
# are floats of 8 bits that are converted on their way, twenty-six.
SPILLED |= {"wave_matmul_kernel": 108}
# Where zero points are read beside scales, of three right operands.
SPILLED |= {"arranged_matmul_kernel": 32}
# Of 32 rows by weights of 4 bits, which are unpacked beside the sums.
SPILLED |= {"staged_matmul_kernel": 20}
# At the ends of memory, where elements are read one by one.
SPILLED |= {"few_rows_matmul_kernel": 36, "wave_batched_matmul_kernel": 8}
# Where sums and those of two stages fill its registers, or are integers that the epilogue makes floats of, it starts with
# more of them than it can keep; the loop in front of it has none in memory.
SPILLED_OF_SHORT_SUMS = {"warpgroup_matmul_kernel": 96, "warpgroup_grouped_matmul_kernel": 96}
SPILLED_OF_INTEGERS = {"warpgroup_matmul_kernel": 104, "warpgroup_grouped_matmul_kernel": 96}
# Of small blocks for heads of 64 elements, five of which are to fit beside each other, the loop over keys reads a few
# words.
SPILLED_OF_SMALL_BLOCKS = {"skinny_attention_kernel": 32}
# Scalar registers of a wave that go to lanes of vector registers, where its 102 do not suffice.
SCALARS_IN_LANES = 128
SHARED = 48 * 1024


@dataclasses.dataclass
class Kernel:
    """What one kernel takes: a thread's registers, its bytes of stack and of spills; a block's bytes of static shared
    memory; and what HIP's put into lanes instead of scalar registers."""

    name: str
    registers: int = 0
    stack: int = 0
    spills: int = 0
    shared: int = 0
    scalars_in_lanes: int = 0


@dataclasses.dataclass
class Source:
    """A file for the compiler, the folder that it stands in, both as seen from the scratch folder, and how many stubs
    it holds at least."""

    path: pathlib.Path
    folder: pathlib.Path
    stubs: int


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def run(command, **options):
    """The standard output and errors of a command that must succeed."""
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise RuntimeError(" ".join(map(str, command)) + "\n" + result.stderr)
    return result.stdout, result.stderr


def run_cached(command, scratch):
    """The standard errors of a compiler that is run in `scratch`. All paths being of this folder, these compilations
    are the same with other clones of the repository."""
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    anywhere = {"CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime"}  # stubs are new
    _, said = run([*cache, *command], cwd=scratch, env=os.environ | anywhere)
    return said


def result_name(source, extension):
    """Of a file in the scratch folder itself: the source may be in one that is linked."""
    return "_".join(source.parts) + "." + extension


def demangled(kernels):
    text, _ = run(["c++filt", *[kernel.name for kernel in kernels]]) if kernels else ("", "")
    for kernel, name in zip(kernels, text.splitlines()):
        kernel.name = name
    return kernels


# ---- CUDA


def read_ptxas(text):
    """The kernels that `ptxas -v` speaks of. Raises where it gives up what Hopper's are written for: register shares that
    it ignores, products that it waits for one by one."""
    if lost := re.search(r".*\bC75(?:08|1\d|2\d)\b.*", text):
        raise RuntimeError(lost[0])
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
        self.nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
        if not self.nvcc:
            skip("there is no nvcc on the path (of NVIDIA's CUDA toolkit)")
        self.arch = arguments.arch
        self.scratch = scratch

    def compile(self, source, includes):
        return read_ptxas(run_cached([self.nvcc, "-c", "-cubin", "-x", "cu", "-std=c++20", "-O3", f"-arch={self.arch}",
                                      "-Werror", "all-warnings", "--expt-relaxed-constexpr", "-Xptxas", "-v", *includes,
                                      source, "-o", result_name(source, "cubin")], self.scratch))


# ---- HIP


def read_amdgpu_metadata(assembly):
    """The kernels that the metadata of an assembly file speaks of.

    Scalar registers that do not suffice go to lanes of vector registers: they are in memory only where those are, too.
    """
    block = re.search(r"^amdhsa\.kernels:\n(.*?)^amdhsa\.", assembly, re.S | re.M)
    kernels = []
    for entry in re.split(r"^  - ", block[1], flags=re.M)[1:] if block else []:
        value = dict(re.findall(r"^    \.(\w+):\s+(\S+)", entry, re.M))  # those of its arguments stand further in
        kernels.append(Kernel(value["name"], int(value["vgpr_count"]), int(value["private_segment_fixed_size"]),
                              int(value["vgpr_spill_count"]), int(value["group_segment_fixed_size"]),
                              int(value["sgpr_spill_count"])))
    return kernels


class Hip:
    # What the device library of an architecture holds, for those that Debian's has none of.
    missing_libraries = {"gfx942": ("942", 9402), "gfx1100": ("1100", 11000)}

    def __init__(self, arguments, scratch):
        self.arch = arguments.arch
        self.scratch = scratch
        self.rocm = pathlib.Path(arguments.rocm_path)
        binaries = subprocess.run([arguments.llvm_config, "--bindir"], capture_output=True, text=True) \
            if shutil.which(arguments.llvm_config) else None
        if not binaries:
            skip(f"there is no {arguments.llvm_config} on the path (Debian: llvm-19 and clang-19)")
        self.binaries = pathlib.Path(binaries.stdout.strip())
        if not (self.rocm / "include/hip/hip_runtime.h").exists():
            skip(f"there are no HIP headers in {self.rocm}/include (Debian: libamdhip64-dev)")
        library = next(self.rocm.glob("lib/**/oclc_isa_version_90a.bc"), None)
        if library is None:
            skip(f"there are no device libraries in {self.rocm}/lib (Debian: rocm-device-libs)")
        self.libraries = self.complete(library)
        self.host_options = ["-DKGEN_HIP", "-D__HIP_PLATFORM_AMD__", "-idirafter", self.rocm / "include"]

    def complete(self, library):
        """A folder of the device libraries, with that of the architecture, which holds its number and nothing else."""
        folder = self.scratch / "device_libraries"
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

    def command(self, libraries):
        """To assembly, of the device's code alone. `libraries`: the folder of the device libraries, or a path to it."""
        return [self.binaries / "clang++", "-x", "hip", f"--offload-arch={self.arch}", f"--rocm-path={self.rocm}",
                "--hip-version=5.2.21153", f"--rocm-device-lib-path={libraries}", "--cuda-device-only", "-S",
                "-std=c++20", "-ffp-contract=fast-honor-pragmas", "-idirafter", self.rocm / "include"]

    def compile(self, source, includes):
        assembly = result_name(source, "s")
        run_cached([*self.command(self.libraries.name), "-O3", "-Wall", "-Wextra", "-Werror", "-Wno-pass-failed",
                    "-Wno-missing-field-initializers", *includes, source, "-o", assembly], self.scratch)
        return read_amdgpu_metadata((self.scratch / assembly).read_text())


# ---- all sources


def essence(text, graph):
    """What of a stub's text the compiler makes code of; the same for graphs that have it in common."""
    return re.sub(rf"\s+|\b{graph}\b", " ", re.sub(r"//.*", "", text))


def plan(graph, arguments, scratch, known):
    """Plans a graph; a Source of its stubs that are not `known` yet, or None, and the wrapper."""
    folder = scratch / graph.stem
    own = ["--specs", arguments.specs, "--kernels", arguments.kernels] if arguments.specs else []
    run([arguments.kgen, "plan", graph, "--emit", folder, "--target", arguments.target, "--arch", arguments.arch,
         "--quiet", *own])
    new = []
    for stub in sorted((folder / "stubs").glob("*.*")):
        text = essence(stub.read_text(), graph.stem)
        if text not in known:
            known.add(text)
            new.append(stub)
    together = folder / "all_stubs.cpp"
    together.write_text("".join(f'#include "stubs/{stub.name}"\n' for stub in new))
    there = folder.relative_to(scratch)
    return Source(there / together.name, there, len(new)) if new else None, folder / f"{graph.stem}.cpp"


def check_wrappers(wrappers, compiler, includes, scratch):
    together = scratch / "all_wrappers.cpp"
    together.write_text("".join(f'#include "{wrapper}"\n' for wrapper in wrappers))
    run(["g++", "-fsyntax-only", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
         *compiler.host_options, *includes, together], cwd=scratch)


def too_much(kernel, arguments):
    """What the kernel takes more of than it may, in words."""
    found = re.search(r"kgen::gpu::(\w+)", kernel.name)
    name = found and found[1]
    registers = REGISTERS.get(arguments.arch, {}).get(name, OTHER_REGISTERS[arguments.target])
    kinds = {r"<kgen::f8e[45]m[23],": SPILLED_OF_SHORT_SUMS, r"<kgen::gpu::BytePair<": SPILLED_OF_INTEGERS,
             r"SkinnyAttention<[^<>]*\b64, (true|\(bool\)1),": SPILLED_OF_SMALL_BLOCKS}
    spilled = next((table for of, table in kinds.items() if re.search(of, kernel.name)), SPILLED).get(name, 0)
    stack = max(STACK[arguments.target], arguments.stack, spilled)
    ceilings = {"registers": (min(registers, arguments.registers), "registers"), "stack": (stack, "bytes of stack"),
                "spills": (max(2 * spilled, arguments.spills), "bytes of spills"), "shared": (SHARED, "bytes of shared memory"),
                "scalars_in_lanes": (max(SCALARS_IN_LANES, arguments.scalars), "scalar registers in lanes of others")}
    for what, (ceiling, unit) in ceilings.items():
        found = getattr(kernel, what)
        if found > ceiling:
            yield f"{kernel.name}: {found} {unit}, more than {ceiling}"


def seen_from(scratch, folder):
    """The name of a link to the folder, by the number of those before."""
    links = scratch / "links"
    links.mkdir(exist_ok=True)
    known = {link.resolve(): link for link in links.iterdir()}
    link = known.get(folder.resolve(), links / str(len(known)))
    if folder.resolve() not in known:
        link.symlink_to(folder.resolve())
    return link.relative_to(scratch)


def compile_all(arguments, scratch):
    """The kernels of all sources, and how many stubs they are of."""
    compiler = {"cuda": Cuda, "hip": Hip}[arguments.target](arguments, scratch)
    own = [arguments.kernels.parent] if arguments.kernels else []
    folders = [arguments.source / "templates", arguments.source / "runtime/include", *own]
    includes = [option for folder in folders for option in ("-I", seen_from(scratch, folder))]
    sources, wrappers, known = [], [], set()
    for path in arguments.sources:
        if path.suffix == ".yaml":
            stubs, wrapper = plan(path, arguments, scratch, known)
            sources += [stubs] if stubs else []
            wrappers.append(wrapper)
        else:
            folder = seen_from(scratch, path.parent)
            sources.append(Source(folder / path.name, folder, 1))
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        compiled = [pool.submit(compiler.compile, source.path, [*includes, "-I", source.folder]) for source in sources]
        if wrappers and arguments.wrappers:
            check_wrappers(wrappers, compiler, includes, scratch)
        found = [job.result() for job in compiled]
    for source, kernels in zip(sources, found):
        if len(kernels) < source.stubs:
            sys.exit(f"{len(kernels)} kernels were found in the {source.stubs} stubs of {source.path}")
    return demangled([kernel for kernels in found for kernel in kernels]), sum(source.stubs for source in sources)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    parser.add_argument("--kgen", required=True)
    parser.add_argument("--source", required=True, type=pathlib.Path, help="the repository")
    parser.add_argument("--target", choices=["cuda", "hip"], required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--specs", type=pathlib.Path, help="of the graphs' own operators; with --kernels")
    parser.add_argument("--kernels", type=pathlib.Path, help="the folder of their own kernels")
    parser.add_argument("--registers", type=int, default=512, help="of a thread, where that is less than its ceiling")
    parser.add_argument("--stack", type=int, default=0, help="bytes of a thread, where that is more than its ceiling")
    parser.add_argument("--spills", type=int, default=0, help="bytes of a thread, where that is more than its ceiling")
    parser.add_argument("--scalars", type=int, default=0, help="scalar registers of a wave that go to lanes, likewise")
    parser.add_argument("--wrappers", action="store_true", help="compile the wrappers too: the same for all archs")
    parser.add_argument("--rocm-path", default="/usr")
    parser.add_argument("--llvm-config", default="llvm-config-19")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        kernels, stubs = compile_all(arguments, pathlib.Path(folder))
    problems = [problem for kernel in kernels for problem in too_much(kernel, arguments)]
    print(f"{stubs} stubs, {len(kernels)} kernels for {arguments.arch}; at most "
          f"{max(k.registers for k in kernels)} registers, {max(k.stack for k in kernels)} bytes of stack, "
          f"{max(k.spills for k in kernels)} of spills, {max(k.shared for k in kernels)} of static shared memory"
          + (f", {max(k.scalars_in_lanes for k in kernels)} scalar registers in lanes of others"
             if arguments.target == "hip" else ""))
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
