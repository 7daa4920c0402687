# Written by kgen 0.1.0: kgen plan kernel_choice.yaml --target cpu --specs my_ops.yaml --kernels my_kernels
# Edit it as you like: `kgen plan` merges what is new with your edits. As written, its content is 7e77e6a96341f504.

# The emitted C++, relative to this folder.
set(kgen_sources
  kernel_choice.cpp
  stubs/stub_y_few.cpp
  stubs/stub_y_low.cpp
  stubs/stub_y_many.cpp
)
set(kgen_headers
  kernel_choice.hpp
  stubs.hpp
)
