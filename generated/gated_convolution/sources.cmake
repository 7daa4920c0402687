# Written by kgen from gated_convolution.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  gated_convolution.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  gated_convolution.hpp
  stubs.hpp
)
