// Operators and kernels from YAML. The files of both kinds are loaded in any order, then linked; only then are the
// addresses of an OpSet's members stable, so that graphs may point to them.
#pragma once

#include "generator/base/diagnostics.hpp"
#include "generator/base/source.hpp"
#include "generator/model/op_spec.hpp"

namespace kgen {

// Adds the operators, the structs and the rules of tuning of one file of specs/ops/. Structs must be loaded before what
// names them.
void load_ops(const SourceText& source, OpSet& set, Diagnostics& diagnostics);

// The kernels of one file of signatures, such as templates/kgen/signatures.yaml. Where it gives the place of a
// declaration, the text is still missing from the location: the header that the kernel names.
KernelLibrary read_signatures(const SourceText& source, Diagnostics& diagnostics);

// Adds kernels, whose names must be new.
void add_kernels(std::vector<KernelSignature> kernels, OpSet& set, Diagnostics& diagnostics);

// Both at once.
void load_signatures(const SourceText& source, OpSet& set, Diagnostics& diagnostics);

// Validates what spans files: kernels and the operators of expansions exist; an operator and each of its kernels agree
// on operands, results and attributes, and its own kernel takes all its dtypes; the nodes of expansions have the right
// operands and attributes; no composite expands into itself; tuning speaks of parameters that kernels have. Does
// nothing after an error: what failed to load would be missing.
void link_ops(const OpSet& set, Diagnostics& diagnostics);

}  // namespace kgen
