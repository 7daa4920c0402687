// StubProgram to C++: one translation unit per stub. The functor bodies are the same text on every target.
#pragma once

#include <string>

#include "generator/base/writer.hpp"
#include "generator/emit/options.hpp"
#include "generator/model/plan.hpp"

namespace kgen {

// "void stub_y(kgen::View<float, 2> y, kgen::View<const float, 2> x, kgen::Stream stream)", wrapped at 120 columns,
// without a semicolon.
std::string stub_declaration(const StubProgram& stub);

// A comment that says what each use of the stub computes; of very many, the first.
void write_uses(Writer& out, const StubProgram& stub);

// By parameter, as the declaration has them.
std::vector<std::string> parameter_names(const StubProgram& stub);

// `text` shown as `view` says: "bias.broadcast_to(y.shape()).merge<0, 1>()". `shapes`: the texts of the shapes of the
// functor's loops.
std::string view_text(std::string text, const MemberView& view, const std::vector<std::string>& shapes);

// The file <folder>/<name>.cpp of one stub, in namespace `graph`.
SourceFile emit_stub(const StubProgram& stub, const std::string& graph, const std::string& folder,
                     const EmitOptions& options);

}  // namespace kgen
