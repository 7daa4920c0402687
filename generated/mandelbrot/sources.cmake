# Written by kgen from mandelbrot.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

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
