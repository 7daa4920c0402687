// What keeps Clang from hanging on a header, or from taking all memory.
#pragma once

#include <clang/Lex/Preprocessor.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <cstdint>

namespace kgen {

// Tokens that the macros of one translation unit may come to. The standard library and kgen's own headers come to less
// than a tenth of it.
inline constexpr std::uint64_t most_macro_tokens = std::uint64_t{1} << 22;

// Reports the expansion that exceeds most_macro_tokens, where it stands in its file, and expands no macro after it.
void limit_macros(clang::Preprocessor& preprocessor);

// The files of the disk, but for pipes and devices: they count as missing, since reading one may have no end.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> regular_files();

}  // namespace kgen
