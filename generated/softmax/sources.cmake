# Written by kgen 0.1.0: kgen plan softmax.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 4aad0a0af062983c.

# The emitted C++, relative to this folder.
set(kgen_sources
  softmax.cpp
  stubs/stub_probabilities.cpp
)
set(kgen_headers
  softmax.hpp
  stubs.hpp
)
