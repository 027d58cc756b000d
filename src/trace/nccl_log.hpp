#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What NCCL prints with NCCL_DEBUG=INFO about its communicators.
namespace stepcast::trace {

/// A GPU as the lines of its ranks show it.
struct LoggedGpu {
  std::uint64_t bus = 0;  ///< bus number as one number
  std::uint32_t device = 0;
  std::string affinity = {};  ///< processors near it, as printed; empty when not printed
};

struct LoggedNic {
  std::string name;
  double gb_per_s = 0;   ///< 0 when not printed
  bool reduces = false;  ///< "/SHARP"
};

struct LoggedHost {
  std::string name;
  std::vector<LoggedGpu> gpus;                      ///< by bus number
  std::vector<LoggedNic> nics;                      ///< in NCCL's order; empty when not printed
  std::map<std::uint32_t, std::uint64_t> nic_gpus;  ///< NIC -> bus number of the GPU beside it, by edges
  std::optional<bool> multicast;                    ///< NVLS support, when printed
};

/// Channel counts of the line "24 coll channels, ...".
struct LoggedCounts {
  std::uint32_t collective = 0;
  std::uint32_t nvls = 0;
  std::uint32_t p2p = 0;
  std::uint32_t p2p_per_peer = 0;
};

struct LoggedMember {
  std::uint32_t host = 0;  ///< index into NcclLog::hosts
  std::uint64_t bus = 0;
};

struct LoggedCommunicator {
  std::string id;  ///< commId; "" in logs that have none
  std::string version;
  bool rccl = false;
  std::uint32_t ranks = 0;
  std::map<std::uint32_t, LoggedMember> members;  ///< by rank; those that printed lines
  std::optional<LoggedCounts> counts;
  std::uint32_t ring_channels = 0;  ///< the number after the slash of ring lines
  /// By channel, beginning with rank 0; NCCL prints at most the first 20 ranks.
  std::map<std::uint32_t, std::vector<std::uint32_t>> rings;
};

struct NcclLog {
  std::vector<LoggedHost> hosts;
  std::vector<LoggedCommunicator> communicators;
  std::map<std::string, std::string> variables;  ///< "set by environment"
  std::string version;                           ///< "2.18.5"; empty when not printed
  bool rccl = false;
  std::string gpu;        ///< GPU that the text names most, upper case ("H100"); empty when none
  std::size_t lines = 0;  ///< with "NCCL INFO"
};

/// Reads a log line by line; what stands before `HOST:PID:TID [DEV] NCCL INFO` in a line, lines of others and
/// broken lines are passed over. `name` stands for the file in messages. Throws InputError when no line is
/// one of NCCL.
[[nodiscard]] NcclLog read_nccl_log(const std::string& text, const std::string& name);

/// The same of a file (text; unpack .gz first).
[[nodiscard]] NcclLog load_nccl_log(const std::string& path);

}  // namespace stepcast::trace
