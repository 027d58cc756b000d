#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/node.hpp"
#include "program/native_keys.hpp"
#include "program/program.hpp"

namespace stepcast::program {

/// Optional members of an object: the value, or `absent` when the key is missing.
template <class Enum>
[[nodiscard]] Enum read_enum(const config::Node& node, Enum last, Enum absent) {
  return node.present() ? static_cast<Enum>(node.one_of(all_names(last))) : absent;
}
[[nodiscard]] std::int64_t read_integer(const config::Node& node,
                                        std::int64_t lower,
                                        std::int64_t upper,
                                        std::int64_t absent);

/// A label: its name as text, or an object.
[[nodiscard]] Label read_label(const config::Node& node);
[[nodiscard]] std::string label_json(const Label& label);

/// A kernel of a compute operation.
[[nodiscard]] compute::Kernel read_kernel(const config::Node& node);
[[nodiscard]] std::string kernel_json(const compute::Kernel& kernel);

/// `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(std::string_view text);

}  // namespace stepcast::program
