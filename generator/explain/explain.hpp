// `kgen explain`: what was computed together, what was not, and why.
#pragma once

#include <string>
#include <string_view>

#include "generator/base/diagnostics.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// "bert: 12 stubs", and what had to be written to memory only to be passed to functions.
std::string summary(const Plan& plan);

// Every stub with its operators, the bytes of memory traffic it saves, and each refusal with its reason.
std::string explain(const Plan& plan);

// What computes the value `name`: its stub, its operator, which kernel was chosen for it and why, and each decision
// that concerns it. Error: no graph of the plan has such a value.
std::string explain(const Plan& plan, std::string_view name, Diagnostics& diagnostics);

// Why the nodes that make the values `a` and `b` are, or are not, computed together: the decision between them, or
// those on the path that leads from one to the other. Error: no graph of the plan has such a value. Values of the main
// graph go before those of functions.
std::string explain(const Plan& plan, std::string_view a, std::string_view b, Diagnostics& diagnostics);

}  // namespace kgen
