// Signatures in the form in which load_signatures() reads them.
#pragma once

#include <string>

#include "generator/model/kernel_signature.hpp"

namespace kgen {

std::string signatures_yaml(const KernelLibrary& library);

}  // namespace kgen
