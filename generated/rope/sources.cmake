# Written by kgen 0.1.0: kgen plan rope.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 417442e92317d669.

# The emitted C++, relative to this folder.
set(kgen_sources
  rope.cpp
  stubs/stub_second.cpp
)
set(kgen_headers
  rope.hpp
  stubs.hpp
)
