# Copies FROM to TO with kgen::Sub where a stub says kgen::Add: a slip of the hand.
file(READ ${FROM} text)
string(REPLACE "kgen::Add" "kgen::Sub" text "${text}")
file(WRITE ${TO} "${text}")
