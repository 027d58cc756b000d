#include "collective/nccl/channel_topology_xml.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "base/error.hpp"
#include "config/quote.hpp"

namespace stepcast::collective::nccl {
namespace {

constexpr std::size_t kMostDevices = 1024;
constexpr int kDeepest = 32;
constexpr std::uint32_t kMostLinks = 1024;

/// Lanes times GT/s to NCCL's GB/s: 16 lanes of generation 3 (8 GT/s) are 12.
constexpr double kSlotPerLaneRate = 12.0 / (16 * 8);

class TopologyReader {
 public:
  TopologyReader(const std::string& text, const std::string& name, const TopologyDefaults& defaults)
      : text_(text), name_(name), defaults_(defaults) {}

  NodeShape read() {
    const pugi::xml_parse_result parsed = xml_.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      refuse(parsed.offset, fmt::format("not well-formed XML: {}", parsed.description()), "mend the file");
    }
    const pugi::xml_node system = xml_.document_element();
    if (std::string_view(system.name()) != "system") {
      refuse(system.offset_debug(), fmt::format("the outermost element is <{}>", system.name()),
             "topology files of NCCL begin with <system>");
    }
    for (const pugi::xml_node cpu : system.children("cpu")) {
      read_cpu(cpu);
    }
    if (gpus_.empty()) {
      refuse(system.offset_debug(), "no GPU", "give a file with <gpu> or PCIe devices of class 0x0302");
    }
    return finish(system);
  }

 private:
  struct FoundGpu {
    GpuShape shape;
    std::string bus;
    std::uint32_t device = 0;
    std::uint32_t generation = 0;
    std::uint32_t switch_links = 0;
    std::map<std::string, std::uint32_t> peer_links;
  };
  struct FoundNic {
    NicShape shape;
    std::uint32_t device = 0;
  };

  [[noreturn]] void refuse(std::ptrdiff_t offset, std::string_view problem, std::string_view remedy) const {
    const std::size_t end =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)), text_.size());
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n') + 1;
    throw InputError(fmt::format("{}:{}: {}; {}", name_, line, problem, remedy));
  }

  static bool has_class(const pugi::xml_node& pci, std::string_view digits) {
    return std::string_view(pci.attribute("class").value()).starts_with(digits);
  }

  void read_cpu(const pugi::xml_node& cpu) {
    const std::string_view vendor = cpu.attribute("vendor").value();
    const std::string_view arch = cpu.attribute("arch").value();
    shape_.cpu = arch == "arm64" || arch == "aarch64" ? CpuKind::kArm
                 : arch == "ppc64"                    ? CpuKind::kPower
                 : vendor == "AuthenticAMD"           ? CpuKind::kAmd
                                                      : CpuKind::kIntel;
    const PciePlace at_processor{.numa = processors_++};
    for (const pugi::xml_node pci : cpu.children("pci")) {
      read_pci(pci, at_processor, {}, 0);
    }
    for (const pugi::xml_node nic : cpu.children("nic")) {
      PciePlace place = at_processor;
      place.root = place.leaf = ++switches_;
      read_nics(nic, place, slot_of(cpu));
    }
  }

  /// `above`: the switch that holds this device, when there is one.
  void read_pci(const pugi::xml_node& pci, PciePlace place, const pugi::xml_node& above, int depth) {
    if (depth > kDeepest || gpus_.size() + nics_.size() > kMostDevices) {
      refuse(pci.offset_debug(), fmt::format("more than {} devices or {} levels", kMostDevices, kDeepest),
             "give the file of one node");
    }
    if (has_class(pci, "0x0604")) {
      // Ports of one Broadcom switch are listed as switches of their own.
      const bool port =
          above && std::string_view(pci.attribute("vendor").value()) == "0x1000" &&
          std::string_view(above.attribute("vendor").value()) == "0x1000" &&
          std::string_view(pci.attribute("device").value()) == above.attribute("device").value();
      if (!port) {
        place.leaf = ++switches_;
        place.root = above ? place.root : place.leaf;
      }
      for (const pugi::xml_node below : pci.children("pci")) {
        read_pci(below, place, pci, depth + 1);
      }
      return;
    }
    if (!above) {
      place.root = place.leaf = ++switches_;
    }
    if (const pugi::xml_node gpu = pci.child("gpu"); gpu || has_class(pci, "0x03")) {
      read_gpu(pci, gpu, place);
    } else if (const pugi::xml_node nic = pci.child("nic")) {
      read_nics(nic, place, slot_of(pci));
    } else if (has_class(pci, "0x02")) {
      add_nic({.place = place, .gb_per_s = defaults_.nic_gb_per_s, .pcie_gb_per_s = slot_of(pci)},
              static_cast<std::uint32_t>(nics_.size()));
    }
  }

  [[nodiscard]] double slot_of(const pugi::xml_node& pci) const {
    const std::string_view rate_text = pci.attribute("link_speed").value();
    double rate = 0;
    std::from_chars(rate_text.data(), rate_text.data() + rate_text.size(), rate);
    const double lanes = pci.attribute("link_width").as_double();
    // As NCCL: what is not told is a x16 slot of generation 3.
    return (rate > 0 && rate < 1000 ? rate : 8) * (lanes > 0 && lanes <= 64 ? lanes : 16) * kSlotPerLaneRate;
  }

  void read_gpu(const pugi::xml_node& pci, const pugi::xml_node& gpu, const PciePlace& place) {
    FoundGpu& found = gpus_.emplace_back();
    found.shape = {.place = place, .pcie_gb_per_s = slot_of(pci)};
    found.bus = pci.attribute("busid").value();
    found.device = gpu.attribute("dev").as_uint(static_cast<std::uint32_t>(gpus_.size() - 1));
    found.generation = gpu.attribute("sm").as_uint();
    if (!gpu) {
      found.switch_links = defaults_.nvlinks;
    }
    for (const pugi::xml_node link : gpu.children("nvlink")) {
      const std::uint32_t count = link.attribute("count").as_uint();
      if (count == 0 || count > kMostLinks) {
        refuse(link.offset_debug(),
               fmt::format("count {}", config::in_quotes(link.attribute("count").value())),
               fmt::format("write 1 to {} links", kMostLinks));
      }
      if (std::string_view(link.attribute("tclass").value()).starts_with("0x0302")) {
        found.peer_links[link.attribute("target").value()] += count;
      } else {
        found.switch_links += count;
      }
    }
  }

  void read_nics(const pugi::xml_node& nic, const PciePlace& place, double slot) {
    for (const pugi::xml_node net : nic.children("net")) {
      const double megabits = net.attribute("speed").as_double();
      NicShape shape{.place = place,
                     .gb_per_s = megabits > 0 && megabits < 1e9 ? megabits / 8000 : defaults_.nic_gb_per_s,
                     .pcie_gb_per_s = slot,
                     .latency_us = net.attribute("latency").as_double(),
                     .reduces = net.attribute("coll").as_uint() != 0};
      add_nic(shape, net.attribute("dev").as_uint(static_cast<std::uint32_t>(nics_.size())));
    }
  }

  void add_nic(const NicShape& shape, std::uint32_t device) {
    if (nics_.size() > kMostDevices) {
      refuse(0, fmt::format("more than {} NICs", kMostDevices), "give the file of one node");
    }
    nics_.push_back({.shape = shape, .device = device});
  }

  NodeShape finish(const pugi::xml_node& system) {
    const auto by_device = [](const auto& a, const auto& b) { return a.device < b.device; };
    std::stable_sort(gpus_.begin(), gpus_.end(), by_device);
    std::stable_sort(nics_.begin(), nics_.end(), by_device);
    shape_.generation = 0;
    bool direct = false;
    shape_.nvlinks = gpus_.front().switch_links;
    for (const FoundGpu& gpu : gpus_) {
      shape_.gpus.push_back(gpu.shape);
      if (gpu.generation > 0) {
        shape_.generation =
            shape_.generation == 0 ? gpu.generation : std::min(shape_.generation, gpu.generation);
      }
      shape_.nvlinks = std::min(shape_.nvlinks, gpu.switch_links);
      direct = direct || !gpu.peer_links.empty();
    }
    if (shape_.generation == 0) {
      if (!defaults_.generation) {
        refuse(system.offset_debug(), "no <gpu> has \"sm\", so the generation of the GPUs is not known",
               "say which GPUs these are");
      }
      shape_.generation = *defaults_.generation;
    }
    if (direct && shape_.nvlinks == 0) {
      shape_.direct_links.assign(gpus_.size(), std::vector<std::uint32_t>(gpus_.size(), 0));
      for (std::size_t a = 0; a < gpus_.size(); ++a) {
        for (std::size_t b = 0; b < gpus_.size(); ++b) {
          const auto at = gpus_[a].peer_links.find(gpus_[b].bus);
          if (a != b && at != gpus_[a].peer_links.end()) {
            shape_.direct_links[a][b] = at->second;
          }
        }
      }
    }
    for (const FoundNic& nic : nics_) {
      shape_.nics.push_back(nic.shape);
    }
    return std::move(shape_);
  }

  const std::string& text_;
  const std::string& name_;
  const TopologyDefaults& defaults_;
  pugi::xml_document xml_;
  NodeShape shape_;
  std::vector<FoundGpu> gpus_;
  std::vector<FoundNic> nics_;
  std::uint32_t processors_ = 0;
  std::uint32_t switches_ = 0;
};

}  // namespace

NodeShape read_topology_xml(const std::string& text,
                            const std::string& name,
                            const TopologyDefaults& defaults) {
  return TopologyReader(text, name, defaults).read();
}

}  // namespace stepcast::collective::nccl
