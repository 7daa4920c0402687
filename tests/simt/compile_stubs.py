"""Compiles stubs with a GPU's compiler and holds what it says of their kernels under ceilings: no spills, nothing in
local memory, and no more registers than their occupancy was planned with.

    compile_stubs.py cuda|hip TEMPLATES OUT SOURCE...

Exits with 77, saying why, where the compiler is missing.
"""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77

# Registers of one thread. 65536 registers of an sm_90 multiprocessor are 64 for each of 1024 threads.
CUDA_CEILINGS = {
    'elementwise_kernel': 80,
    'tile_kernel': 128,
    'register_rows_kernel': 168,
    'memory_rows_kernel': 128,
    'matmul_kernel': 128,
    'attention_kernel': 128,
    'scan_along_kernel': 64,
    'scan_across_kernel': 64,
}
HIP_CEILING = 256  # 512 of a SIMD of gfx90a for two waves
HIP_ARCHITECTURES = ('gfx90a', 'gfx942', 'gfx1100')
# Device libraries that Debian lacks, made from that of gfx90a: each holds one constant.
HIP_MISSING = {'gfx942': ('942', '9402'), 'gfx1100': ('1100', '11000')}

COMMON_FLAGS = ['-std=c++20', '-O3', '-DNDEBUG']


class Skipped(Exception):
    pass


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit('failed: ' + ' '.join(map(str, command)) + '\n' + done.stdout + done.stderr)
    return done.stdout + done.stderr


def find(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise Skipped(f'{names[0]} was not found')


def kernel_name(symbol):
    """The function template's name in a mangled symbol, such as tile_kernel."""
    return next((name for name in CUDA_CEILINGS if name in symbol), symbol)


def check(where, symbol, registers, ceiling, in_memory):
    problems = []
    name = kernel_name(symbol)
    if in_memory:
        problems.append(f'{where}: {name} ({symbol}) uses {in_memory} bytes of local memory or spills')
    if registers > ceiling:
        problems.append(f'{where}: {name} ({symbol}) takes {registers} registers, of {ceiling}')
    return problems


def compile_cuda(nvcc, templates, out, source):
    log = run([nvcc, '-x', 'cu', *COMMON_FLAGS, '--expt-relaxed-constexpr', '-fmad=false',
               '-gencode=arch=compute_90a,code=sm_90a', '--ptxas-options=-v', f'-I{templates}', '-c', source,
               '-o', out / (source.stem + '.o')])
    if 'warning' in log:
        raise SystemExit(f'{source}: the compiler warns:\n{log}')
    kernels = re.findall(r"Compiling entry function '(\S+)' for.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                         r'(\d+) bytes spill loads.*?Used (\d+) registers', log, re.S)
    problems = []
    for symbol, stack, stores, loads, registers in kernels:
        ceiling = CUDA_CEILINGS.get(kernel_name(symbol), 128)
        problems += check(f'{source.name} for sm_90a', symbol, int(registers), ceiling, int(stack) + int(stores) + int(loads))
    return len(kernels), problems


def device_libraries(out):
    """A folder with Debian's device libraries and those that it lacks."""
    given = next(iter(pathlib.Path('/usr/lib').glob('*/amdgcn/bitcode')), None)
    if given is None:
        raise Skipped('rocm-device-libs was not found')
    folder = out / 'bitcode'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for library in given.iterdir():
        (folder / library.name).symlink_to(library)
    disassemble, assemble = find('llvm-dis-15', 'llvm-dis-19'), find('llvm-as-15', 'llvm-as-19')
    for suffix, constant in HIP_MISSING.values():
        text = folder / f'{suffix}.ll'
        run([disassemble, given / 'oclc_isa_version_90a.bc', '-o', text])
        text.write_text(text.read_text().replace('i32 9010', f'i32 {constant}'))
        run([assemble, text, '-o', folder / f'oclc_isa_version_{suffix}.bc'])
    return folder


def compile_hip(clang, libraries, templates, source, architecture):
    log = run([clang, '-x', 'hip', f'--offload-arch={architecture}', '--rocm-path=/usr', '--hip-version=5.2.21153',
               f'--rocm-device-lib-path={libraries}', *COMMON_FLAGS, '-ffp-contract=off', '-Wall', '-Wextra',
               '-Wno-missing-field-initializers', '-Werror', '-Rpass-analysis=kernel-resource-usage',
               '--cuda-device-only', f'-I{templates}', '-S', '-o', '/dev/null', source])
    kernels = re.findall(r'Function Name: (\S+).*? VGPRs: (\d+).*?ScratchSize \[bytes/lane\]: (\d+)', log, re.S)
    problems = []
    for symbol, registers, scratch in kernels:
        problems += check(f'{source.name} for {architecture}', symbol, int(registers), HIP_CEILING, int(scratch))
    return len(kernels), problems


def main():
    platform, templates, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    sources = [pathlib.Path(source) for source in sys.argv[4:]]
    out.mkdir(parents=True, exist_ok=True)
    try:
        if platform == 'cuda':
            nvcc = find('nvcc', '/usr/local/cuda/bin/nvcc')
            jobs = [(compile_cuda, nvcc, templates, out, source) for source in sources]
        else:
            clang = find('clang++-19')
            libraries = device_libraries(out)
            jobs = [(compile_hip, clang, libraries, templates, source, architecture)
                    for architecture in HIP_ARCHITECTURES for source in sources]
    except Skipped as reason:
        print(f'skipped: {reason}')
        sys.exit(SKIPPED)
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda job: job[0](*job[1:]), jobs))
    problems = [problem for _, found in results for problem in found]
    print('\n'.join(problems) or f'{sum(count for count, _ in results)} kernels under their ceilings')
    if any(count == 0 for count, _ in results):
        sys.exit('the compiler said nothing of some source: does this script still read its output?')
    sys.exit(1 if problems else 0)


if __name__ == '__main__':
    main()
