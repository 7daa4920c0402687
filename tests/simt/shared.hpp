// How headers declare what several tests launch: `extern template`, but in the one source that compiles it, which
// defines KGEN_SHARED as `template`.
#pragma once

#if !defined(KGEN_SHARED)
#define KGEN_SHARED extern template
#endif
