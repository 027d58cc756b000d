#pragma once

#include <cstdint>

namespace stepcast::test {

/// Allocations by operator new of this program so far.
[[nodiscard]] std::uint64_t allocations();

}  // namespace stepcast::test
