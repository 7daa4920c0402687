# Written by kgen from grayscale.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  grayscale.cpp
  stubs/stub_gray.cpp
)
set(kgen_headers
  grayscale.hpp
  stubs.hpp
)
