#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.hpp"
#include "collective/collective.hpp"

namespace stepcast::collective {

/// A schedule from a file, with what the file says beside it.
struct ScheduleFile {
  std::string name;
  Schedule schedule;
  std::optional<Protocol> protocol;
  Bytes min_bytes;  ///< of the whole buffer; both 0 = any size
  Bytes max_bytes;
};

/// Reads a step list: MSCCL XML ("<algo ...>", as written by msccl-tools) or our own JSON (what
/// `stepcast dump schedule` writes), told apart by content. The schedule has passed the symbolic
/// checker. Throws InputError with file and line for what is malformed, and for a schedule that
/// does not do what its collective promises (which step, rank and chunk); UnsupportedError for
/// collectives without a postcondition (custom) and for more than kMostFileSteps steps.
[[nodiscard]] ScheduleFile load_schedule(const std::string& path);

/// The same for text that is already read; `name` stands for the file in messages.
[[nodiscard]] ScheduleFile read_schedule(const std::string& text, const std::string& name);

// Of one file: beyond these it is a mistake, or too large to be checked.
inline constexpr std::size_t kMostFileSteps = 4'000'000;
inline constexpr std::uint32_t kMostMembers = 131'072;
inline constexpr std::uint32_t kMostChunks = 1U << 24;
inline constexpr std::uint32_t kMostLanes = 1U << 20;

}  // namespace stepcast::collective
