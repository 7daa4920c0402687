# Written by kgen from softmax.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  softmax.cpp
  stubs/stub_probabilities.cpp
)
set(kgen_headers
  softmax.hpp
  stubs.hpp
)
