# Written by kgen 0.1.0: kgen plan swish.yaml --target cpu
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is f1281cabdbd9252a.

# The emitted C++, relative to this folder.
set(kgen_sources
  stubs/stub_y.cpp
  swish.cpp
)
set(kgen_headers
  swish.hpp
  stubs.hpp
)
