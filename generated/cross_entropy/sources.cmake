# Written by kgen 0.1.0: kgen plan cross_entropy.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 82a6549b69097722.

# The emitted C++, relative to this folder.
set(kgen_sources
  cross_entropy.cpp
  stubs/stub_loss.cpp
)
set(kgen_headers
  cross_entropy.hpp
  stubs.hpp
)
