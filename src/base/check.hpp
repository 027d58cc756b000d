#pragma once

#include <string>

#include <fmt/core.h>

namespace stepcast {

/// Throws InternalError with the place and text. Called by STEPCAST_CHECK only.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& text);

}  // namespace stepcast

/// A defect of ours, caught in every build type: a wrong prediction costs more than a compare.
/// Usage: STEPCAST_CHECK(at >= now, "event at {} ps, now {} ps", at.ps(), now.ps());
#define STEPCAST_CHECK(condition, ...)                                                      \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::stepcast::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                       \
  } while (false)
