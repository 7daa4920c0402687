# Written by kgen from int8_mlp.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  int8_mlp.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  int8_mlp.hpp
  stubs.hpp
)
