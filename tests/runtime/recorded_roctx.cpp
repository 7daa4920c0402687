// What ROCm's library of that name has, for a test: it writes down what it is called with.
#include <string>

namespace {
std::string calls;
int depth = 0;
}  // namespace

extern "C" int roctxRangePushA(const char* name) {
  calls += std::string("push ") + name + "\n";
  return depth++;
}
extern "C" int roctxRangePop() {
  calls += "pop\n";
  return --depth;
}
extern "C" const char* recorded_calls() { return calls.c_str(); }
