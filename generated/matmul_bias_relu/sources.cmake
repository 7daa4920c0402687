# Written by kgen from matmul_bias_relu.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  matmul_bias_relu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  matmul_bias_relu.hpp
  stubs.hpp
)
