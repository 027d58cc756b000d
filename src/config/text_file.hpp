#pragma once

#include <cstddef>
#include <string>

namespace stepcast::config {

/// All bytes of a file, at most one more than `longest` (which shows that it is longer). Throws InputError
/// `NAME: cannot be read (why); check the path`.
[[nodiscard]] std::string read_text_file(const std::string& path,
                                         const std::string& name,
                                         std::size_t longest);

}  // namespace stepcast::config
