# Written by kgen 0.1.0: kgen plan mandelbrot.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is d6e55cde0ce63b41.

# The emitted C++, relative to this folder.
set(kgen_sources
  mandelbrot.cpp
  stubs/stub_region.cpp
  stubs/stub_shade.cpp
  stubs/stub_steps.cpp
)
set(kgen_headers
  mandelbrot.hpp
  stubs.hpp
)
