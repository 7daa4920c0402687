# Written by kgen from kernel_choice.yaml.
# Edit it as you like: `kgen plan` merges what is new with your edits.

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
