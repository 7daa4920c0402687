# Written by kgen from rope.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  rope.cpp
  stubs/stub_second.cpp
)
set(kgen_headers
  rope.hpp
  stubs.hpp
)
