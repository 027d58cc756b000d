#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compute/kernel.hpp"
#include "program/program.hpp"

namespace stepcast::program {

inline constexpr std::string_view kFormatName = "stepcast-program";
inline constexpr int kFormatVersion = 1;

/// All names of an enumeration in the order of its values, for reading with Node::one_of.
template <class Enum>
[[nodiscard]] std::vector<std::string> all_names(Enum last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return names;
}

/// Kernel kinds as in program files.
[[nodiscard]] std::string_view kernel_name(compute::KernelKind kind);
[[nodiscard]] std::vector<std::string> kernel_names();

/// The kind of stream that an operation runs on when the file names none.
[[nodiscard]] StreamKind default_stream(OpKind kind);

/// Whether operations of this kind move or hold bytes, and may carry a recorded duration.
[[nodiscard]] bool has_bytes(OpKind kind);
[[nodiscard]] bool may_be_recorded(OpKind kind);

}  // namespace stepcast::program
