// The executor's software atoms against the device's, bit for bit.
#include "tests/gpu/atoms.hpp"

#include <doctest/doctest.h>

TEST_CASE("Atoms: the executor gives what the device gives, bit for bit") {
  const std::vector<AtomResult> expected = software_atoms(), found = device_atoms();
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& [name, words] = found[i];
    REQUIRE(name == expected[i].name);
    REQUIRE(words.size() == expected[i].words.size());
    std::size_t differing = 0, first = 0;
    for (std::size_t word = words.size(); word-- > 0;) {
      if (words[word] == expected[i].words[word]) continue;
      ++differing;
      first = word;
    }
    INFO(name, ": of ", words.size(), " words ", differing, " differ, from number ", first, " on: ", words[first],
         " and in software ", expected[i].words[first]);
    CHECK(differing == 0);
  }
  MESSAGE(found.size(), " atoms compared");
}
