# Written by kgen from beams.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  beams.cpp
  stubs/stub_power.cpp
)
set(kgen_headers
  beams.hpp
  stubs.hpp
)
