// Does a hostile topology file of NCCL end in an InputError? Any bytes are read as one; the node of a small
// one is searched for channels, alone and with a second one.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "collective/nccl/channel_topology_xml.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace nccl = stepcast::collective::nccl;
  try {
    const nccl::NodeShape shape = nccl::read_topology_xml(
        std::string(reinterpret_cast<const char*>(data), size), "fuzz", {.generation = 90, .nvlinks = 18});
    if (shape.gpus.size() > 4 || shape.nics.size() > 4) {
      return 0;
    }
    std::vector<std::uint32_t> members(shape.gpus.size());
    std::iota(members.begin(), members.end(), 0U);
    static_cast<void>(nccl::search_channels(shape, {members}, {}));
    if (!shape.nics.empty()) {
      static_cast<void>(nccl::search_channels(shape, {members, members}, {}));
    }
  } catch (const stepcast::InputError&) {
  }
  return 0;
}
