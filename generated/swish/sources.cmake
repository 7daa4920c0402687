# Written by kgen from swish.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  stubs/stub_y.cpp
  swish.cpp
)
set(kgen_headers
  swish.hpp
  stubs.hpp
)
