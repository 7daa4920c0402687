# Written by kgen from swiglu.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  stubs/stub_y.cpp
  swiglu.cpp
)
set(kgen_headers
  swiglu.hpp
  stubs.hpp
)
