# Written by kgen 0.1.0: kgen plan snake.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 9b22d9dfe4cb12a8.

# The emitted C++, relative to this folder.
set(kgen_sources
  snake.cpp
  stubs/stub_y.cpp
)
set(kgen_headers
  snake.hpp
  stubs.hpp
)
