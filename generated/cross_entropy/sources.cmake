# Written by kgen from cross_entropy.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  cross_entropy.cpp
  stubs/stub_loss.cpp
)
set(kgen_headers
  cross_entropy.hpp
  stubs.hpp
)
