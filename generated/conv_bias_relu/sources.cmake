# Written by kgen 0.1.0: kgen plan conv_bias_relu.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is e4a7d1cc87675200.

# The emitted C++, relative to this folder.
set(kgen_sources
  conv_bias_relu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  conv_bias_relu.hpp
  stubs.hpp
)
