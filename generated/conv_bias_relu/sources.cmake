# Written by kgen from conv_bias_relu.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  conv_bias_relu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  conv_bias_relu.hpp
  stubs.hpp
)
