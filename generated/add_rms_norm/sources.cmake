# Written by kgen from add_rms_norm.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  add_rms_norm.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  add_rms_norm.hpp
  stubs.hpp
)
