# Copies FROM to TO; where FROM is the source of STUB, with kgen::Sub for kgen::Add: a slip of the hand.
file(READ ${FROM} text)
cmake_path(GET FROM STEM name)
if(name STREQUAL STUB)
  string(REPLACE "kgen::Add" "kgen::Sub" text "${text}")
endif()
file(WRITE ${TO} "${text}")
