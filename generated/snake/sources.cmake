# Written by kgen from snake.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

# The emitted C++, relative to this folder.
set(kgen_sources
  snake.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  snake.hpp
  stubs.hpp
)
