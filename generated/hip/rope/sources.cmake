# Written by kgen 0.1.0: kgen plan rope.yaml --target hip --arch gfx942
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 2eb6a235474019f5.

# The emitted C++, relative to this folder.
set(kgen_sources
  rope.cpp
  stubs/stub_second.hip
)
set(kgen_headers
  rope.hpp
  stubs.hpp
)
