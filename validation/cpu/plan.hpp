#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace testbed {

/// What the user got wrong, or what the machine cannot do: one line, exit code 2.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One collective of a group of ranks.
struct Call {
  std::string kind;       ///< as the product names it: all_reduce, all_to_all ...
  std::string algorithm;  ///< ring, halving_doubling, bcube, direct, gloo, binomial
  std::string ranks;      ///< as --ranks
  std::vector<int> members;
  std::size_t bytes = 0;  ///< as nccl-tests counts: the whole buffer
};

/// Collectives that start at the same time, measured together.
struct Run {
  std::string id;
  std::string group;    ///< rows of one group are fitted or judged together
  std::string cluster;  ///< as the rows shall name it
  std::vector<Call> calls;
};

/// Reads a plan: a run a line, "ID GROUP CLUSTER KIND ALGORITHM RANKS BYTES [+ KIND ALGORITHM RANKS
/// BYTES]..."; # begins a comment. Ranks are below `hosts`; BYTES may end in K or M (binary) and is whole
/// elements and parts.
[[nodiscard]] std::vector<Run> read_plan(const std::string& path, int hosts);

/// "0-3,6" -> 0 1 2 3 6. Throws UserError.
[[nodiscard]] std::vector<int> ranks_of(const std::string& text, int hosts, const std::string& place);

/// Bytes of memory that the largest run takes in all ranks.
[[nodiscard]] std::size_t memory_of(const std::vector<Run>& runs);

}  // namespace testbed
