# Written by kgen 0.1.0: kgen plan add_rms_norm.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is a366301873248750.

# The emitted C++, relative to this folder.
set(kgen_sources
  add_rms_norm.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  add_rms_norm.hpp
  stubs.hpp
)
