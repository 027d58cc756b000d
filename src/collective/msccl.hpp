#pragma once

#include <string>

#include "collective/schedule_file.hpp"

// Internal to collective/: the XML of MSCCL.
namespace stepcast::collective {

/// Reads "<algo>": GPUs, thread blocks and steps become lanes; `nop` steps, which only wait, become
/// dependencies of the step that follows. Not checked for what it does. Errors carry the line.
/// Source of the format: microsoft/msccl-tools, msccl/language/ir.py.
[[nodiscard]] ScheduleFile read_msccl(const std::string& text, const std::string& name);

}  // namespace stepcast::collective
