# What a user does: plans a graph, edits a stub, changes the graph, plans again. The edit doubles the gate of the MLP; the
# graph, changed, halves it before.
#   cmake -DKGEN=kgen -DGRAPH=llama_block.yaml -DFOLDER=emitted -P edit_and_plan.cmake

# kgen(STATUS VARIABLE ARGUMENTS...): VARIABLE becomes what it prints. It must exit with STATUS.
function(kgen expected result)
  execute_process(COMMAND ${KGEN} ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE status)
  if(NOT status EQUAL expected)
    message(FATAL_ERROR "kgen ${ARGN}: exits with ${status}, not ${expected}\n${output}${errors}")
  endif()
  set(${result} "${output}" PARENT_SCOPE)
endfunction()

# FILE with FROM, which it must hold, replaced by TO.
function(replace_in file from to)
  file(READ ${file} text)
  string(REPLACE "${from}" "${to}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file} does not hold '${from}'")
  endif()
  file(WRITE ${file} "${changed}")
endfunction()

function(expect text part)
  string(FIND "${text}" "${part}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "'${part}' is missing from\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
cmake_path(GET GRAPH FILENAME name)
set(graph ${FOLDER}.graph/${name})
configure_file(${GRAPH} ${graph} COPYONLY)
execute_process(COMMAND ${KGEN} plan ${graph} --emit "" ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 2)
  message(FATAL_ERROR "an empty --emit: kgen exits with ${status}, not 2\n${errors}")
endif()
kgen(0 output plan ${graph} --emit ${FOLDER})
replace_in(${FOLDER}/stubs/stub_hidden.cpp "kgen::Silu::apply(gate)" "kgen::Silu::apply(kgen::Mul::apply(gate, 2.0f))")
kgen(0 output status ${FOLDER})
expect("${output}" "edited       stubs/stub_hidden.cpp")

replace_in(${graph} "  - {op: matmul, in: [h_normed, w_gate], out: gate}\n"
  "  - {op: mul, in: [w_gate, 0.5], out: half}\n  - {op: matmul, in: [h_normed, half], out: gate}\n")
kgen(1 output status ${FOLDER})
expect("${output}" "${name} changed")
kgen(0 output plan ${graph} --emit ${FOLDER})
expect("${output}" "merged with your edits: stubs/stub_hidden.cpp")
kgen(0 output diff ${FOLDER})
expect("${output}" "+    const auto activated = kgen::Silu::apply(kgen::Mul::apply(gate, 2.0f));")
