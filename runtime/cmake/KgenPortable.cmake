# PORTABLE: emitted code is compiled several times, for processors of several ages, and a program chooses when it first
# asks for the graph.
include_guard(GLOBAL)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_kgen_portable_archs armv8-a armv8.2-a+dotprod armv8.2-a+dotprod+bf16+i8mm)
else()
  set(_kgen_portable_archs x86-64-v2 x86-64-v3 x86-64-v4 x86-64-v4+avx512vnni+avx512bf16)
endif()
set(KGEN_PORTABLE_ARCHS ${_kgen_portable_archs} CACHE STRING
  "What PORTABLE graphs are compiled for, from the oldest to the newest: levels of x86-64 or of 64-bit Arm, as -march= \
takes them, and features behind a +. A program needs the first")

# Compiles each source of the target once for each of KGEN_PORTABLE_ARCHS. Called when the folder has been read, so that
# what was added to the target meanwhile, options too, is every variant's.
#
# A variant is one object file, joined of its sources, in which every name but the graph's own is local. Else the linker
# would keep one of the variants' copies of each inline function, the standard library's among them, for all: of
# whichever variant comes first, and older processors might then run what was compiled for newer ones.
function(_kgen_make_portable target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(graph ${target} KGEN_GRAPH)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64|aarch64|arm64)$" OR
     NOT CMAKE_EXECUTABLE_FORMAT STREQUAL ELF)
    message(FATAL_ERROR "${target}: PORTABLE is for x86-64 and 64-bit Arm, and ELF, as Linux has. Elsewhere KGEN_CPU_ARCH "
                        "says what emitted code is compiled for")
  endif()
  set(declared "")
  set(offered "")
  set(objects "")
  foreach(architecture IN LISTS KGEN_PORTABLE_ARCHS)
    _kgen_read_architecture(${target} ${architecture} options condition suffix)
    _kgen_add_variant(${target} ${suffix} kgen_graph_${graph} "${sources}" "${options}")
    list(APPEND objects ${CMAKE_CURRENT_BINARY_DIR}/${target}.${suffix}.o)
    string(APPEND declared "KGEN_EXTERN_C const kgen_graph* kgen_graph_${graph}_${suffix}(void);\n")
    string(APPEND offered "      {\"${architecture}\", ${condition}, kgen_graph_${graph}_${suffix}},\n")
  endforeach()
  set(chooser ${CMAKE_CURRENT_BINARY_DIR}/${target}.portable.cpp)
  file(CONFIGURE OUTPUT ${chooser} @ONLY CONTENT [[
// Which variant of the graph @graph@ this machine's processor runs: written for kgen_add_graph(@target@ ... PORTABLE).
#include "@graph@.hpp"

#include "kgen/runtime/variants.hpp"

@declared@
const kgen_graph* kgen_graph_@graph@(void) {
  static const kgen_graph* const chosen = kgen::choose_variant({
@offered@  });
  return chosen;
}
]])
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set_target_properties(${target} PROPERTIES SOURCES "${chooser};${objects}" UNITY_BUILD OFF)
endfunction()

# What an architecture is for the compiler (options), for a running program (condition) and in names (suffix).
function(_kgen_read_architecture target architecture options condition suffix)
  string(REPLACE "+" ";" features "${architecture}")
  list(POP_FRONT features level)
  if(architecture MATCHES "^x86-64(-v[234])?(\\+[a-z0-9.-]+)*$")
    list(TRANSFORM features PREPEND -m OUTPUT_VARIABLE flags)
    list(PREPEND flags -march=${level})
    list(TRANSFORM features REPLACE "(.+)" "__builtin_cpu_supports(\"\\1\") > 0" OUTPUT_VARIABLE conditions)
    list(PREPEND conditions "__builtin_cpu_supports(\"${level}\") > 0")
    list(JOIN conditions " && " conditions)
  elseif(architecture MATCHES "^armv8(\\.2)?-a(\\+(dotprod|fp16|bf16|i8mm|sve|sve2))*$")
    set(flags -march=${architecture})
    set(conditions "kgen::runs_on_arm(\"${architecture}\")")
  else()
    message(FATAL_ERROR "${target}: KGEN_PORTABLE_ARCHS has '${architecture}', which is no level of x86-64 (x86-64, "
                        "x86-64-v2, x86-64-v3, x86-64-v4) with features behind a +, such as x86-64-v3+avxvnni, nor of Arm "
                        "(armv8-a, armv8.2-a) with some of dotprod, fp16, bf16, i8mm, sve and sve2, such as "
                        "armv8.2-a+dotprod")
  endif()
  string(MAKE_C_IDENTIFIER ${architecture} identifier)
  set(${options} "${flags}" PARENT_SCOPE)
  set(${condition} "${conditions}" PARENT_SCOPE)
  set(${suffix} ${identifier} PARENT_SCOPE)
endfunction()

# The sources of the target, compiled with these options and joined: <target>.<suffix>.o, whose one global name is
# <entry>_<suffix>.
function(_kgen_add_variant target suffix entry sources options)
  set(variant ${target}.${suffix})
  add_library(${variant} OBJECT EXCLUDE_FROM_ALL ${sources})
  foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS COMPILE_FEATURES INCLUDE_DIRECTORIES LINK_LIBRARIES
                            UNITY_BUILD UNITY_BUILD_BATCH_SIZE)
    get_target_property(value ${target} ${property})
    if(NOT value MATCHES "-NOTFOUND$")
      set_target_properties(${variant} PROPERTIES ${property} "${value}")
    endif()
  endforeach()
  # Joining is the linker's work, which reads no intermediate code; and a program's one copy of a variable is none.
  set_target_properties(${variant} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_options(${variant} PRIVATE ${options} $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  if(TARGET ${target}_plan)
    add_dependencies(${variant} ${target}_plan)
  endif()
  set(joined ${CMAKE_CURRENT_BINARY_DIR}/${variant})
  add_custom_command(
    OUTPUT ${joined}.o
    COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -fuse-ld=bfd -Wl,--force-group-allocation -o ${joined}.joined.o
            $<TARGET_OBJECTS:${variant}>
    COMMAND ${CMAKE_OBJCOPY} --redefine-sym ${entry}=${entry}_${suffix} --keep-global-symbol=${entry}_${suffix}
            ${joined}.joined.o ${joined}.o
    BYPRODUCTS ${joined}.joined.o
    DEPENDS ${variant} $<TARGET_OBJECTS:${variant}>
    COMMENT "kgen: joining ${variant}"
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()
