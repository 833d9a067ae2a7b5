// How many graphs are worked on at once, and which ones.
#pragma once

#include "types/index.hpp"

namespace arborand {

constexpr Index graphs_at_once = 4;

// Of so many words.  With fewer, a row does not fill a vector.  With more, one graph alone keeps
// the processor busy, and four take more of its cache; and nobody who waits could interrupt.
constexpr Index fewest_words_at_once = 4, most_words_at_once = 64;

}  // namespace arborand
