# kgen_add_graph(): a library of the C++ that kgen writes for a graph, kept current by the build.
include_guard(GLOBAL)
cmake_policy(VERSION 3.25)

set(KGEN_CPU_ARCH native CACHE STRING "CPU that emitted code is compiled for, as -march= takes it; empty: the compiler's default")

# How emitted code is compiled. Also called by the CMakeLists.txt that kgen writes beside it.
function(kgen_compile_emitted target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  if(KGEN_CPU_ARCH)
    target_compile_options(${target} PRIVATE -march=${KGEN_CPU_ARCH})
  endif()
  target_link_libraries(${target} PUBLIC kgen::runtime kgen::templates PRIVATE OpenMP::OpenMP_CXX)
endfunction()

# kgen_add_graph(<name> GRAPH <file.yaml> [TARGET cpu] [SPECS <file>...] [KERNELS <file>...] [CHECK])
#
# Creates the static library <name>, whose emitted folder is on the include path of what links it. The build plans again when
# the graph, a spec, a kernel signature or kgen itself changes, and compiles only the files that came out different.
#   TARGET   what to emit for (default: cpu)
#   SPECS    more operators, as specs/ops/*.yaml
#   KERNELS  signatures of more kernels; add their include directories with target_include_directories(<name> ...)
#   CHECK    emit check functions too, for kgen_load_options.check
#
# Which files kgen emits is known only once it has planned, so it lists them in sources.cmake, on which the configuration
# depends. An installed kgen plans while CMake configures. A kgen that this project itself builds cannot; there Ninja, which
# brings the configuration's own inputs up to date first, builds kgen, plans, configures again, and goes on.
function(kgen_add_graph name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "CHECK" "GRAPH;TARGET" "SPECS;KERNELS")
  if(NOT ARG_GRAPH)
    message(FATAL_ERROR "kgen_add_graph(${name}): GRAPH <file.yaml> is missing")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kgen_add_graph(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_TARGET)
    set(ARG_TARGET cpu)
  endif()
  foreach(file IN LISTS ARG_GRAPH ARG_SPECS ARG_KERNELS)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE OUTPUT_VARIABLE path)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "kgen_add_graph(${name}): there is no file ${path}")
    endif()
    list(APPEND inputs ${path})
  endforeach()
  list(GET inputs 0 graph)

  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.emitted)
  set(depfile ${folder}.d)
  set(arguments plan ${graph} --emit ${folder} --target ${ARG_TARGET} --depfile ${depfile})
  _kgen_append_paths(arguments --specs "${ARG_SPECS}")
  _kgen_append_paths(arguments --kernels "${ARG_KERNELS}")
  if(ARG_CHECK)
    list(APPEND arguments --check)
  endif()
  _kgen_plan_while_configuring(${name} ${depfile} ${arguments})

  # kgen_sources and kgen_headers, relative to the folder.
  include(${folder}/sources.cmake OPTIONAL)
  list(TRANSFORM kgen_sources PREPEND ${folder}/)
  list(TRANSFORM kgen_headers PREPEND ${folder}/)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/sources.cmake)

  # A stamp, because files that come out the same keep their times.
  set(stamp ${folder}.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    BYPRODUCTS ${folder}/sources.cmake ${kgen_sources} ${kgen_headers}
    COMMAND kgen::kgen ${arguments}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS $<TARGET_FILE:kgen::kgen> ${inputs}
    DEPFILE ${depfile}
    COMMENT "kgen: planning ${name}"
    VERBATIM)
  add_custom_target(${name}_plan DEPENDS ${stamp})

  if(NOT kgen_sources)  # not planned yet
    set(kgen_sources ${folder}.cpp)
    file(CONFIGURE OUTPUT ${kgen_sources} CONTENT "")
  endif()
  add_library(${name} STATIC ${kgen_sources})
  add_dependencies(${name} ${name}_plan)
  target_include_directories(${name} PUBLIC ${folder})
  kgen_compile_emitted(${name})
endfunction()

# Appends "<option> <path>" for each file, made absolute.
function(_kgen_append_paths list option files)
  foreach(file IN LISTS files)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND ${list} ${option} ${file})
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# Runs an installed kgen now. Generators other than Ninja see new inputs only by configuring again.
function(_kgen_plan_while_configuring name depfile)
  get_target_property(installed kgen::kgen IMPORTED)
  if(NOT installed)
    if(NOT CMAKE_GENERATOR MATCHES Ninja)
      message(FATAL_ERROR "kgen_add_graph(${name}): a project that builds kgen itself needs Ninja: configure with -G Ninja")
    endif()
    return()
  endif()
  get_target_property(kgen kgen::kgen LOCATION)
  execute_process(COMMAND ${kgen} ${ARGN} OUTPUT_QUIET ERROR_VARIABLE messages RESULT_VARIABLE status)
  if(messages)
    message(NOTICE "${messages}")
  endif()
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "kgen_add_graph(${name}): kgen cannot plan the graph (${status})")
  endif()
  if(NOT CMAKE_GENERATOR MATCHES Ninja)
    file(READ ${depfile} text)
    string(REGEX REPLACE "^[^:]*:|\\\\\n" " " text "${text}")
    separate_arguments(inputs UNIX_COMMAND "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  endif()
endfunction()
