# Written by kgen 0.1.0: kgen plan matmul_bias_relu.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is f1fac6dd02c2c18c.

# The emitted C++, relative to this folder.
set(kgen_sources
  matmul_bias_relu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  matmul_bias_relu.hpp
  stubs.hpp
)
