# kgen_add_graph(): a library of the C++ that kgen writes for a graph, kept current by the build.
include_guard(GLOBAL)
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/KgenPortable.cmake)

set(KGEN_CPU_ARCH native CACHE STRING
  "CPU that emitted code is compiled for, as -march= takes it; empty: the compiler's default; portable: as with PORTABLE")

set(KGEN_CUBLASLT OFF CACHE STRING
  "Whether CUDA's stubs may call cuBLASLt, where rules of tuning say so: ON, OFF, or IF_FOUND, and else do without")

# How emitted code is compiled: kgen_compile_emitted(<target> [PORTABLE] [TARGET cuda|hip ARCH <arch>] [CUBLASLT]). Also
# called by the CMakeLists.txt that kgen writes beside it. Where the graph's numerics (kgen_numerics in its sources.cmake) are
# match_unfused, KGEN_MATCH_UNFUSED is defined: elementary functions are the most precise ones.
function(kgen_compile_emitted target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PORTABLE;CUBLASLT" "TARGET;ARCH" "")
  target_compile_features(${target} PUBLIC cxx_std_20)
  if(NOT DEFINED CMAKE_POSITION_INDEPENDENT_CODE)  # a shared library may be made of it, whoever links it
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3>)
  target_link_libraries(${target} PUBLIC kgen::runtime kgen::templates)
  if(kgen_numerics STREQUAL match_unfused)
    target_compile_definitions(${target} PRIVATE KGEN_MATCH_UNFUSED)
  endif()
  if(ARG_TARGET STREQUAL cuda OR ARG_TARGET STREQUAL hip)
    _kgen_compile_for_gpu(${target} ${ARG_TARGET} ${ARG_ARCH})
    if(ARG_TARGET STREQUAL cuda)
      _kgen_link_cublaslt(${target} "${ARG_CUBLASLT}")
    endif()
  elseif(ARG_PORTABLE OR KGEN_CPU_ARCH STREQUAL portable)
    if(kgen_headers)  # empty until the graph has been planned
      list(GET kgen_headers 0 header)  # the graph's own, which has its name
      cmake_path(GET header STEM graph)
      set_target_properties(${target} PROPERTIES KGEN_GRAPH ${graph})
      cmake_language(EVAL CODE "cmake_language(DEFER CALL _kgen_make_portable [[${target}]])")  # ${} now, not then
    endif()
  elseif(KGEN_CPU_ARCH)
    target_compile_options(${target} PRIVATE -march=${KGEN_CPU_ARCH})
  endif()
endfunction()

# Finds what kgen::runtime_<vendor> links to: CUDA::cudart_static, hip::host. Only who asks for a vendor looks for it.
function(kgen_find_toolkit vendor)
  if(vendor STREQUAL cuda)
    find_package(CUDAToolkit 12 QUIET GLOBAL)
  else()
    set(CMAKE_POLICY_VERSION_MINIMUM 3.10)  # HIP's package asks for policies that CMake 4 has dropped
    find_package(hip QUIET GLOBAL)
  endif()
endfunction()

# The stubs are read by the vendor's compiler, the wrapper by the host's. Within kernels and functions an addition takes in the
# multiplication before it without rounding in between, except where the graph's numerics (kgen_numerics in its sources.cmake)
# are match_unfused.
function(_kgen_compile_for_gpu target vendor arch)
  string(TOUPPER ${vendor} language)
  if(NOT CMAKE_${language}_COMPILER)
    message(FATAL_ERROR
      "${target}: TARGET ${vendor} needs the language ${language}: project(<name> LANGUAGES CXX ${language})")
  endif()
  if(NOT TARGET kgen::runtime_${vendor})
    message(FATAL_ERROR "${target}: TARGET ${vendor} needs kgen::runtime_${vendor}, which is built where kgen is built "
                        "with the toolkit of ${vendor} at hand")
  endif()
  kgen_find_toolkit(${vendor})
  string(REGEX REPLACE "^sm_" "" architecture ${arch})
  set_target_properties(${target} PROPERTIES ${language}_ARCHITECTURES ${architecture})
  target_compile_definitions(${target} PRIVATE
    KGEN_${language} $<$<AND:$<STREQUAL:${vendor},hip>,$<COMPILE_LANGUAGE:CXX>>:__HIP_PLATFORM_AMD__>)
  # The standard is an option, as CMake does not know each nvcc's.
  set(contract true)
  set(contract_hip fast-honor-pragmas)
  if(kgen_numerics STREQUAL match_unfused)
    set(contract false)
    set(contract_hip off)
  endif()
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr --fmad=${contract} -lineinfo>
    $<$<COMPILE_LANGUAGE:HIP>:-std=c++20 -ffp-contract=${contract_hip}>)
  target_link_libraries(${target} PUBLIC kgen::runtime_${vendor})
endfunction()

# cuBLASLt for the stubs of a target, where the target or the build asks for it.
function(_kgen_link_cublaslt target asked)
  if(NOT asked AND NOT KGEN_CUBLASLT)
    return()
  endif()
  if(TARGET CUDA::cublasLt)
    target_compile_definitions(${target} PRIVATE KGEN_CUBLASLT)
    target_link_libraries(${target} PUBLIC CUDA::cublasLt)
  elseif(NOT asked AND KGEN_CUBLASLT STREQUAL IF_FOUND)
    target_compile_definitions(${target} PRIVATE KGEN_NO_CUBLASLT)
  else()
    message(FATAL_ERROR "${target}: CUBLASLT needs CUDA::cublasLt, which this toolkit does not have")
  endif()
endfunction()

# Adds to a target planned with CHECK, for each of these stubs (relative to the folder that holds them), the copy that
# check mode looks into. The build makes it of the stub as it stands, so that it follows every edit. Also called by the
# CMakeLists.txt that kgen writes.
function(kgen_observe_stubs target folder)
  foreach(stub IN LISTS ARGN)
    set(copy ${CMAKE_CURRENT_BINARY_DIR}/${target}.observed/${stub})
    cmake_path(GET copy PARENT_PATH copy_folder)
    file(MAKE_DIRECTORY ${copy_folder})
    add_custom_command(
      OUTPUT ${copy}
      COMMAND kgen::kgen observe ${folder}/${stub} --output ${copy}
      DEPENDS ${folder}/${stub} $<TARGET_FILE:kgen::kgen>
      COMMENT "kgen: observing ${stub} of ${target}"
      VERBATIM)
    target_sources(${target} PRIVATE ${copy})
    cmake_path(GET stub PARENT_PATH stub_folder)
    target_include_directories(${target} PRIVATE ${folder}/${stub_folder})  # of what a stub includes beside itself
  endforeach()
endfunction()

# kgen_add_graph(<name> GRAPH <file.yaml> [STATIC|SHARED] [TARGET cpu|cuda|hip] [ARCH <arch>] [SPECS <file>...]
#                [KERNELS <folder>...] [CHECK] [PORTABLE] [CUBLASLT])
#
# Creates the library <name>, whose emitted folder is on the include path of what links it. The build plans again when the
# graph, a spec, a kernel's header or kgen itself changes, and compiles only the files that came out different. Programs
# in C may link it, and projects that have no other C++.
#   STATIC, SHARED   the kind of library (default: as BUILD_SHARED_LIBS says, as for add_library). Its code is position
#            independent, so a static one may go into a shared library of yours. A shared one holds the runtime.
#   TARGET   what to emit for (default: cpu). The project must have the language of a GPU: CUDA or HIP.
#   ARCH     of a GPU, as `kgen plan --arch` takes it: sm_90a, sm_80, sm_86, sm_89, sm_100, sm_120; gfx942, gfx90a, gfx1100
#            (default: the first of these)
#   SPECS    more operators, as specs/ops/*.yaml
#   KERNELS  your own kernels, before the built-in ones: folders of headers with their signatures (YAML), or files of
#            signatures beside their headers. Where the folders are is on the include path of the stubs, so that they
#            find my_kernels/snake.hpp.
#   CHECK    emit check functions too, for kgen_load_options.check
#   PORTABLE of a CPU: compile what is emitted for each of KGEN_PORTABLE_ARCHS instead of KGEN_CPU_ARCH alone; a program runs
#            the newest of them that the processor has, or the one that its environment's KGEN_CPU_ARCH names. For x86-64
#            and 64-bit Arm, and ELF. Such a library has threads of its own, and is as many times as large
#   CUBLASLT of CUDA: link cuBLASLt, for stubs that a rule of tuning has call it (Library: 1). Without it, or
#            KGEN_CUBLASLT, such a stub does not compile, and nothing links it
#
# Which files kgen emits is known only once it has planned, so it lists them in sources.cmake, a copy of which is
# included here. With Ninja the copy is both made by the build and an input of the configuration: Ninja brings it up to
# date first, building kgen for it where this project does that itself, and configures again only when the list came out
# different. Other generators cannot; there an installed kgen plans while CMake configures, which it does again when an
# input changes.
function(kgen_add_graph name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "STATIC;SHARED;CHECK;PORTABLE;CUBLASLT" "GRAPH;TARGET;ARCH"
                        "SPECS;KERNELS")
  if(NOT ARG_GRAPH)
    message(FATAL_ERROR "kgen_add_graph(${name}): GRAPH <file.yaml> is missing")
  endif()
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "kgen_add_graph(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  set(library_type "")
  if(ARG_STATIC AND ARG_SHARED)
    message(FATAL_ERROR "kgen_add_graph(${name}): a library is STATIC or SHARED, not both")
  elseif(ARG_STATIC)
    set(library_type STATIC)
  elseif(ARG_SHARED)
    set(library_type SHARED)
  endif()
  if(NOT ARG_TARGET)
    set(ARG_TARGET cpu)
  endif()
  set(portable "")
  if(ARG_PORTABLE AND NOT ARG_TARGET STREQUAL cpu)
    message(FATAL_ERROR "kgen_add_graph(${name}): PORTABLE is for TARGET cpu, not ${ARG_TARGET}")
  elseif(ARG_PORTABLE)
    set(portable PORTABLE)
  endif()
  set(library "")
  if(ARG_CUBLASLT AND NOT ARG_TARGET STREQUAL cuda)
    message(FATAL_ERROR "kgen_add_graph(${name}): CUBLASLT is for TARGET cuda, not ${ARG_TARGET}")
  elseif(ARG_CUBLASLT)
    set(library CUBLASLT)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.emitted)
  set(depfile ${folder}.d)
  _kgen_find_files(graph ${name} ${ARG_GRAPH})
  _kgen_find_files(specs ${name} ${ARG_SPECS})
  _kgen_find_files(kernels ${name} ${ARG_KERNELS})
  _kgen_find_kernels(kernel_files kernel_directories ${kernels})
  set(inputs ${graph} ${specs} ${kernel_files})
  list(TRANSFORM specs PREPEND --specs=)
  list(TRANSFORM kernels PREPEND --kernels=)
  set(arguments
    plan ${graph} --emit ${folder} --target ${ARG_TARGET} --depfile ${depfile} --quiet ${specs} ${kernels})
  if(ARG_TARGET STREQUAL cuda AND NOT ARG_ARCH)
    set(ARG_ARCH sm_90a)
  elseif(ARG_TARGET STREQUAL hip AND NOT ARG_ARCH)
    set(ARG_ARCH gfx942)
  endif()
  set(architecture "")
  if(ARG_ARCH)
    list(APPEND arguments --arch ${ARG_ARCH})
    set(architecture ARCH ${ARG_ARCH})
  endif()
  if(ARG_CHECK)
    list(APPEND arguments --check)
  endif()

  get_target_property(installed kgen::kgen IMPORTED)
  if(installed)
    _kgen_plan_now(${name} ${folder} ${arguments})
  elseif(NOT CMAKE_GENERATOR STREQUAL Ninja)
    message(FATAL_ERROR "kgen_add_graph(${name}): a project that builds kgen itself needs Ninja (cmake -G Ninja)")
  elseif(NOT EXISTS ${folder}.cmake)
    file(CONFIGURE OUTPUT ${folder}.cmake CONTENT "")  # only what exists becomes an input of the configuration
  endif()

  # kgen_sources, kgen_headers and, with CHECK, kgen_observed, relative to the folder; kgen_numerics.
  set(kgen_headers "")
  set(kgen_observed "")
  set(kgen_numerics "")
  include(${folder}.cmake)
  list(TRANSFORM kgen_sources PREPEND ${folder}/)
  list(TRANSFORM kgen_headers PREPEND ${folder}/)
  set(not_planned_yet "")
  if(NOT kgen_sources)
    set(not_planned_yet ${folder}.cpp)
    file(CONFIGURE OUTPUT ${not_planned_yet} CONTENT "")
  endif()
  add_library(${name} ${library_type} ${kgen_sources} ${not_planned_yet})
  target_include_directories(${name} PUBLIC ${folder} PRIVATE ${kernel_directories})
  kgen_compile_emitted(${name} TARGET ${ARG_TARGET} ${architecture} ${portable} ${library})
  kgen_observe_stubs(${name} ${folder} ${kgen_observed})

  if(CMAKE_GENERATOR STREQUAL Ninja)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}.cmake)
    add_custom_command(
      OUTPUT ${folder}/sources.cmake  # what the depfile speaks of
      BYPRODUCTS ${folder}.cmake ${kgen_sources} ${kgen_headers}
      COMMAND kgen::kgen ${arguments}
      COMMAND ${CMAKE_COMMAND} -E copy_if_different ${folder}/sources.cmake ${folder}.cmake
      DEPENDS $<TARGET_FILE:kgen::kgen> ${inputs}
      DEPFILE ${depfile}
      COMMENT "kgen: planning ${name}"
      VERBATIM)
    add_custom_target(${name}_plan DEPENDS ${folder}/sources.cmake)
    add_dependencies(${name} ${name}_plan)
  else()
    _kgen_read_depfile(dependencies ${depfile})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${dependencies})
  endif()
endfunction()

# The files as absolute paths. They must exist.
function(_kgen_find_files result name)
  set(paths "")
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    if(NOT EXISTS ${file})
      message(FATAL_ERROR "kgen_add_graph(${name}): there is no file or folder ${file}")
    endif()
    list(APPEND paths ${file})
  endforeach()
  set(${result} ${paths} PARENT_SCOPE)
endfunction()

# The files that planning depends on, and where the folders are, of what KERNELS names.
function(_kgen_find_kernels files directories)
  set(all_files "")
  set(all_directories "")
  foreach(path IN LISTS ARGN)
    if(IS_DIRECTORY ${path})
      file(GLOB found CONFIGURE_DEPENDS ${path}/*.yaml ${path}/*.h ${path}/*.hpp)
      list(APPEND all_files ${found})
      cmake_path(APPEND path .. OUTPUT_VARIABLE directory)
    else()
      list(APPEND all_files ${path})
      cmake_path(APPEND path ../.. OUTPUT_VARIABLE directory)
    endif()
    cmake_path(NORMAL_PATH directory)
    list(APPEND all_directories ${directory})
  endforeach()
  list(REMOVE_DUPLICATES all_directories)
  set(${files} ${all_files} PARENT_SCOPE)
  set(${directories} ${all_directories} PARENT_SCOPE)
endfunction()

# Runs an installed kgen, which keeps the time of every file that stays the same.
function(_kgen_plan_now name folder)
  get_target_property(kgen kgen::kgen LOCATION)
  execute_process(COMMAND ${kgen} ${ARGN} ERROR_VARIABLE messages RESULT_VARIABLE status)
  if(messages)
    message(NOTICE "${messages}")
  endif()
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "kgen_add_graph(${name}): kgen cannot plan the graph")
  endif()
  file(COPY_FILE ${folder}/sources.cmake ${folder}.cmake ONLY_IF_DIFFERENT)
endfunction()

# The files that a depfile names, and the kgen that wrote it.
function(_kgen_read_depfile result depfile)
  get_target_property(kgen kgen::kgen LOCATION)
  file(READ ${depfile} text)
  string(REPLACE "\\\n" " " text "${text}")
  string(REGEX REPLACE "^([^:\\]|\\\\.)*:" "" text "${text}")
  string(REPLACE "$$" "$" text "${text}")  # what else make escapes, a shell does alike, but for its quotes
  string(REGEX REPLACE "(['\"])" "\\\\\\1" text "${text}")
  separate_arguments(files UNIX_COMMAND "${text}")
  set(${result} ${files} ${kgen} PARENT_SCOPE)
endfunction()
