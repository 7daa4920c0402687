# Written by kgen 0.1.0: kgen plan grayscale.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 16920e81bca43d54.

# The emitted C++, relative to this folder.
set(kgen_sources
  grayscale.cpp
  stubs/stub_gray.cpp
)
set(kgen_headers
  grayscale.hpp
  stubs.hpp
)
