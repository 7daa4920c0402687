#include "kgen/runtime/observer.hpp"

namespace kgen {
namespace {

std::mutex turn;

}  // namespace

Observer::Observer(const Call& call, const char* stub) : call_(call), stub_(stub), turn_(turn) {
  observed_values = &values_;
}

Observer::~Observer() {
  observed_values = nullptr;
  call_.note_observed(stub_);
}

}  // namespace kgen
