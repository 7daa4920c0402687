# Of a bundle: the runtime and the kernel library, built from their sources, and graphs that are planned already.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(sleef SHARED IMPORTED GLOBAL)
set_target_properties(sleef PROPERTIES
  IMPORTED_LOCATION ${BUNDLE}/third_party/libsleef.so.3 IMPORTED_SONAME libsleef.so.3
  INTERFACE_INCLUDE_DIRECTORIES ${BUNDLE}/third_party)
include(GNUInstallDirs)  # the kernel library says what is installed of it, which nobody asks for here
set(KGEN_SLEEF_LIBRARY sleef)
set(KGEN_SHARE_DIRECTORY share)
add_subdirectory(${BUNDLE}/templates kernel_library)

file(GLOB runtime_sources ${BUNDLE}/runtime/src/*.cpp ${BUNDLE}/runtime/src/cpu/*.cpp)
add_library(kgen_runtime STATIC ${runtime_sources})
add_library(kgen::runtime ALIAS kgen_runtime)
target_include_directories(kgen_runtime PUBLIC ${BUNDLE}/runtime/include ${BUNDLE}/third_party PRIVATE ${BUNDLE})
target_link_libraries(kgen_runtime PUBLIC kgen_templates PRIVATE ${CMAKE_DL_LIBS})

include(${BUNDLE}/runtime/cmake/KgenAddGraph.cmake)

# The shared library `name` of the graph that was planned into `folder`.
function(add_planned_graph name folder)
  set(kgen_numerics "")
  include(${folder}/sources.cmake)
  list(TRANSFORM kgen_sources PREPEND ${folder}/)
  add_library(${name} SHARED ${kgen_sources})
  target_include_directories(${name} PRIVATE ${folder})
  kgen_compile_emitted(${name})
endfunction()
