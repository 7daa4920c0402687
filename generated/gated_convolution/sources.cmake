# Written by kgen 0.1.0: kgen plan gated_convolution.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is bc79ea1ed6640260.

# The emitted C++, relative to this folder.
set(kgen_sources
  gated_convolution.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  gated_convolution.hpp
  stubs.hpp
)
