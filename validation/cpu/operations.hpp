#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <gloo/rendezvous/context.h>

#include "plan.hpp"

namespace testbed {

/// One call of a collective by one member, on buffers of its own.
struct Operation {
  std::function<void()> fill;          ///< before each repetition: the member's own input
  std::function<void()> run;           ///< what is timed
  std::function<std::string()> check;  ///< after it: empty, or the first element that is wrong
};

/// REQUIRES: a call that read_plan accepted; `context` of its members, in their order. All members make their
/// operations in the same order.
[[nodiscard]] Operation make_operation(const Call& call,
                                       const std::shared_ptr<gloo::rendezvous::Context>& context,
                                       std::chrono::milliseconds timeout);

}  // namespace testbed
