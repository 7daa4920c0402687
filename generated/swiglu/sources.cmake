# Written by kgen 0.1.0: kgen plan swiglu.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 9d20e0353fa84a8a.

# The emitted C++, relative to this folder.
set(kgen_sources
  stubs/stub_y.cpp
  swiglu.cpp
)
set(kgen_headers
  swiglu.hpp
  stubs.hpp
)
