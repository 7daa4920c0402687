# Written by kgen from layer_norm_gelu.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  layer_norm_gelu.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  layer_norm_gelu.hpp
  stubs.hpp
)
